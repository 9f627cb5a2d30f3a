"""`dataset` and `dataset_id` by every library: of files of every kind, and of fresh records."""

from collections import Counter
from typing import Any

import duckdb
import polars as pl
import pyarrow.compute as pc
import pytest

from meta.v1 import operations_pb2 as pb
from meta.v1 import resources_pb2
from segments.signals import SIGNALS
from segplane.read import ReadError
from tests.segplane.read.conftest import Open
from tests.segplane.read.test_dataset import promote
from tests.support.foreign_files import ForeignWriter, logs, parquet
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.groups import create_group
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver

COLUMNS = ["dataset_id", "signal", "dataset"]


@pytest.fixture
def name(meta_server: MetaServer, segments: SegmentWriter) -> str:
    """The dataset in a group, with files of every kind and 48 records."""
    segments.has_token_index = True
    segments.write(rows=5, signals=SIGNALS, format_version=1)
    segments.write(rows=20, day=1)
    promote(segments)
    segments.write(rows=10, day=2)
    ForeignWriter(meta_server, segments.dataset).save(parquet(logs(3)), 3)
    create_group(meta_server.client, "shop")
    request = pb.RenameDatasetRequest(dataset_id=segments.dataset, new_name="shop/web")
    meta_server.client.operations.RenameDataset(request)
    return "shop/web"


def counted(rows: Any) -> Counter[tuple[str, ...]]:
    """The count of each row in an Arrow table, by the order of `COLUMNS`."""
    return Counter(zip(*(rows[column].to_pylist() for column in COLUMNS), strict=True))


def test_every_library_reads_them(name: str, segments: SegmentWriter, opened: Open) -> None:
    of_signal = {"logs": 38, "metrics": 5, "traces": 5}
    expected = Counter({(segments.dataset, s, name): n for s, n in of_signal.items()})
    dataset = opened(name, columns=COLUMNS)

    assert dataset.schema.names == COLUMNS
    assert counted(dataset.to_table()) == expected
    assert counted(dataset.polars().collect().to_arrow()) == expected
    relation = dataset.duckdb(duckdb.connect())
    assert counted(relation.to_arrow_table()) == expected
    assert relation.filter(f"dataset = '{name}'").count("*").fetchall() == [(48,)]
    assert relation.filter("dataset = 'web'").count("*").fetchall() == [(0,)]
    is_name = pl.col("dataset") == name
    assert dataset.polars().filter(is_name).select(pl.len()).collect().item() == 48
    assert dataset.polars().filter(~is_name).collect().height == 0
    assert dataset.source().filter(pc.field("dataset") == name).to_table().num_rows == 48
    assert dataset.source().filter(pc.field("dataset_id") == "none").to_table().num_rows == 0


def test_a_search_in_bodies_and_fresh_records_have_them(
    name: str, meta_server: MetaServer, segments: SegmentWriter, opened: Open
) -> None:
    CollectorDriver(meta_server.client, segments.dataset).send("of a baby", "another")
    columns = ["dataset", "body"]

    fresh = opened(name, columns=columns, fresh=True).to_table()
    searched = opened(name, columns=columns, fresh=True).body_has("baby").to_table()

    assert fresh["dataset"].to_pylist() == [name] * 50
    assert searched.to_pylist() == [{"dataset": name, "body": "of a baby"}]
    bodies = [str(body) for body in fresh["body"].to_pylist() if body]
    term = bodies[0].split()[0]
    names = opened(name, columns=columns).body_has(term).to_table()["dataset"]
    assert set(names.to_pylist()) == {name}


def test_only_who_names_them_gets_them(name: str, opened: Open, segments: SegmentWriter) -> None:
    assert not set(COLUMNS) - {"signal"} & set(opened(name).schema.names)
    with pytest.raises(ReadError, match="there is no column 'datase'"):
        opened(name, columns=["datase"])
    named = opened(name, columns=["dataset"])
    assert set(named.to_table()["dataset"].to_pylist()) == {name}


def test_an_older_version_has_the_name_of_then(
    name: str, meta_server: MetaServer, segments: SegmentWriter, opened: Open
) -> None:
    version = opened(name).version
    request = resources_pb2.RenameGroupRequest(name="shop", new_name="store")
    meta_server.client.resources.RenameGroup(request)

    assert opened("store/web", columns=["dataset"]).to_table()["dataset"][0].as_py() == "store/web"
    older = opened(name, columns=["dataset"], as_of=version)
    assert older.to_table()["dataset"][0].as_py() == name
