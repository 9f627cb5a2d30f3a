"""Views read like datasets: in Python, DuckDB and Spark, and by `segplane sql`."""

import json
from collections import Counter

import duckdb
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from meta.v1 import catalog_pb2 as pb
from meta.v1 import operations_pb2 as ops
from segments.signals import SIGNALS
from segplane.read import OpenView, ReadError, open_dataset, open_view
from segplane.read.spark.source import SegplaneSource
from tests.segplane.read.test_dataset import promote
from tests.support.command_line import RunCommand
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.schemas import link_view, make_projection, make_view
from tests.support.meta.segments import DAY, EPOCH
from tests.support.meta.server import MetaServer

LOGS = (
    "where signal == 'logs' | project at = timestamp, what = body,"
    " user = tostring(attributes['user.id']), spent = 2 * 1s"
)
SPANS = (
    "where signal == 'traces' | project what = name, at = timestamp,"
    " user = tostring(attributes['user.id']), spent = duration"
)


@pytest.fixture
def view(meta_server: MetaServer, segments: SegmentWriter) -> str:
    """A view over records of files of every kind."""
    segments.write(signals=SIGNALS, format_version=1)
    segments.write(day=1, signals=SIGNALS)
    promote(segments)
    segments.write(day=2, signals=SIGNALS)
    link_view(meta_server.client, segments.dataset, "work", LOGS, SPANS)
    return "work"


def opened_view(meta_server: MetaServer, **options: object) -> OpenView:
    return open_view("work", meta_address=meta_server.address, **options)  # type: ignore[arg-type]


def expected_rows(meta_server: MetaServer) -> "Counter[tuple[object, ...]]":
    """Compute the view's rows from the dataset's, by hand."""
    rows: Counter[tuple[object, ...]] = Counter()
    with open_dataset("web", meta_address=meta_server.address) as dataset:
        for row in dataset.to_table().to_pylist():
            user = json.loads(row["attributes"] or "{}").get("user.id")
            if not isinstance(user, str | None):
                user = json.dumps(user, separators=(",", ":"))
            if row["signal"] == "logs":
                rows[row["timestamp"], row["body"], user, 2 * 10**9] += 1
            elif row["signal"] == "traces":
                rows[row["timestamp"], row["name"], user, row["duration_ns"]] += 1
    return rows


def test_every_way_gives_the_union_over_the_links(meta_server: MetaServer, view: str) -> None:
    expected = expected_rows(meta_server)

    with opened_view(meta_server) as work:
        table = work.to_table()
        ways = [
            table.to_pylist(),
            work.pandas().astype(object).to_dict("records"),
            work.polars().to_dicts(),
            work.duckdb(duckdb.connect()).to_arrow_table().to_pylist(),
        ]

        assert table.schema == work.schema
        assert table.schema.names == ["at", "what", "user", "spent"]
        assert len(expected) > 100
        assert Counter(tuple(row.values()) for row in ways[0]) == expected
        assert [len(way) for way in ways] == [table.num_rows] * 4
        times = [sorted(str(row["at"])[:19] for row in way) for way in ways]
        assert times == times[:1] * 4


@pytest.mark.long
@pytest.mark.spark
def test_spark_gives_the_same_rows(spark: SparkSession, meta_server: MetaServer, view: str) -> None:
    with opened_view(meta_server) as work:
        rows = work.spark(spark).toArrow().cast(work.schema).to_pylist()

    assert Counter(tuple(row.values()) for row in rows) == expected_rows(meta_server)


@pytest.mark.long
@pytest.mark.spark
def test_sparks_format_reads_views(spark: SparkSession, meta_server: MetaServer, view: str) -> None:
    source = spark.read.format("segplane").option("metaAddress", meta_server.address)
    expected = expected_rows(meta_server)

    frame = source.option("view", "work").load()
    rows = frame.toArrow().to_pylist()
    few = source.options(
        view="work", columns="what,at", start=f"{EPOCH + DAY}ns", end=f"{EPOCH + 2 * DAY}ns"
    ).load()

    assert [field.dataType.simpleString() for field in frame.schema] == [
        "timestamp", "string", "string", "bigint"
    ]  # fmt: skip
    assert Counter(tuple(row.values()) for row in rows) == expected
    assert frame.join(frame.select("at", "what"), ["at", "what"]).count() > 0
    assert frame.where("spent = 2000000000").unionAll(frame.where("spent > 0")).count() > 60
    assert (few.columns, few.count(), few.rdd.getNumPartitions()) == (["what", "at"], 40, 2)
    pins = meta_server.client.operations.ListPins(ops.ListPinsRequest()).pins
    assert len({pin.version for pin in pins}) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"view": "wrok"}, "there is no view 'wrok': did you mean 'work'?"),
        ({"view": "work", "columns": "wat"}, "view 'work' has no column 'wat'"),
        ({"view": "work", "signal": "logs"}, "signal is of datasets"),
        ({"view": "work", "dataset": "web"}, "dataset and view: expected one of them"),
        ({"dataset": "work"}, "there is no dataset 'work', it is a view"),
    ],
)
def test_sparks_format_refuses_in_one_sentence(
    meta_server: MetaServer,
    segments: SegmentWriter,
    options: dict[str, str],
    message: str,
) -> None:
    link_view(meta_server.client, segments.dataset, "work", "project what = body")
    source = SegplaneSource({"metaAddress": meta_server.address} | options)

    with pytest.raises(ReadError) as refused:
        source.schema()

    assert message in str(refused.value)


def test_there_are_no_streams_of_views() -> None:
    with pytest.raises(ReadError, match="there are no streams of views, and 'work' is one"):
        SegplaneSource({"view": "work"}).streamReader(StructType())


def test_a_view_over_two_datasets_is_read_at_one_version(
    meta_server: MetaServer, segments: SegmentWriter
) -> None:
    client = meta_server.client
    other = SegmentWriter(client, CatalogDriver(client).dataset("other"), segments.folder)
    segments.write(rows=3)
    other.write(rows=4)
    view = link_view(client, segments.dataset, "work", "project at = timestamp, what = body")
    projection = make_projection(client, "second", "project at = timestamp, what = body, more = 1")
    client.catalog.LinkViewDatasetProjection(
        pb.LinkViewDatasetProjectionRequest(
            view_id=view, dataset_id=other.dataset, projection_id=projection
        )
    )

    with opened_view(meta_server) as before:
        segments.write(rows=5)
        other.write(rows=6)

        assert {dataset.version for dataset in before.datasets} == {before.version}
        assert before.to_table().num_rows == 7
        assert before.schema.names == ["at", "what"]
        with opened_view(meta_server) as now, opened_view(meta_server, as_of=before.version) as old:
            assert now.to_table().num_rows == 18
            assert old.to_table().num_rows == 7


def test_a_view_reads_the_times_and_columns_that_it_is_asked_for(
    meta_server: MetaServer, view: str
) -> None:
    with opened_view(meta_server, start=EPOCH + DAY, end=EPOCH + 2 * DAY, columns=["what"]) as work:
        files = work.datasets[0].files()
        table = work.to_table()

        assert (len(files), table.num_rows, table.schema.names) == (1, 40, ["what"])
        assert set(work.datasets[0].columns.names) == {"signal", "body", "name"}


def test_a_projections_own_times_choose_its_files(
    meta_server: MetaServer, segments: SegmentWriter
) -> None:
    for day in range(3):
        segments.write(day=day)
    link_view(
        meta_server.client,
        segments.dataset,
        "work",
        f"where timestamp >= datetime(1970-01-01) + {(EPOCH + 2 * DAY) // 1_000} * 1microsecond",
    )

    with opened_view(meta_server, columns=["body"]) as work:
        assert len(work.datasets[0].files()) == 1
        assert work.to_table().num_rows == 20


def test_segplane_sql_knows_views(run: RunCommand, meta_server: MetaServer, view: str) -> None:
    make_view(meta_server.client, "wo")
    rows = json.loads(
        run("sql", "-c", "SELECT count(*) AS n, sum(spent) FROM work", "--json").stdout
    )
    joined = 'SELECT count(*) AS n FROM work JOIN web ON "at" = timestamp AND body = what'

    assert rows[0]["n"] == 120
    assert json.loads(run("sql", "-c", joined, "--json").stdout)[0]["n"] > 0
    unlinked = run("sql", "-c", "SELECT * FROM wo")
    fresh = run("sql", "-c", "SELECT * FROM work", "--fresh")
    assert "view 'wo' reads no dataset: link it" in unlinked.stderr
    assert "there are no fresh views, and 'work' is one" in fresh.stderr
    assert (unlinked.exit_code, fresh.exit_code) == (1, 1)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("wrok", {}, "there is no view 'wrok': did you mean 'work'?"),
        ("web", {}, "'web' is a dataset and no view: open_dataset reads it"),
        ("work", {"fresh": True}, "there are no fresh views, and 'work' is one: open its datasets"),
        ("work", {"columns": ["wat"]}, "view 'work' has no column 'wat': did you mean 'what'?"),
        ("work", {"columns": []}, "columns is [], expected a list"),
        ("work", {"as_of": 10**9}, "version"),
        ("work", {"start": "soon"}, "start: "),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(
    meta_server: MetaServer,
    segments: SegmentWriter,
    name: str,
    options: dict[str, object],
    message: str,
) -> None:
    link_view(meta_server.client, segments.dataset, "work", "project what = body")

    with pytest.raises(ReadError) as refused:
        open_view(name, meta_address=meta_server.address, **options)  # type: ignore[arg-type]

    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    pins = ops.ListPinsRequest()
    assert not meta_server.client.operations.ListPins(pins).pins


def test_a_view_is_not_a_dataset(meta_server: MetaServer, segments: SegmentWriter) -> None:
    link_view(meta_server.client, segments.dataset, "work", "project what = body")

    with pytest.raises(ReadError, match="there is no dataset 'work', it is a view: read it by"):
        open_dataset("work", meta_address=meta_server.address)
