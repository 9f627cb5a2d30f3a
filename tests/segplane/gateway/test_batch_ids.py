"""`batch_id`: all records of one JSON request are found by the id that its answer gave."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from dataplane.dataset_layout import read_layout
from meta.v1 import ingest_token_pb2
from meta.v1 import operations_pb2 as pb
from segplane.query.engine import RunningQuery
from segplane.read import open_dataset
from tests.segplane.query.conftest import QueryDriver
from tests.segplane.query.test_row_groups import profile, scans
from tests.support.collector.http import post_to
from tests.support.collector.process import CollectorProcess
from tests.support.foreign_files import SECOND, ForeignWriter, logs, parquet
from tests.support.gateway.server import GatewayServer
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import get_settings, set_settings
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, nursery
from tests.support.visible_segments import find, key_of

FILES = 8


@dataclass
class Shop:
    """The dataset web, a collector that takes its records, and the readers."""

    meta: MetaServer
    gateway: GatewayServer
    collector: CollectorProcess
    dataset: str
    secret: str

    def post(self, *names: str, **headers: str) -> dict[str, Any]:
        """Send records in one request; returns the answer."""
        body = json.dumps({"records": [{"event": name, "batch_id": "mine"} for name in names]})
        sent = {"Authorization": f"Bearer {self.secret}", "Content-Type": "application/json"}
        answer = post_to("/v1/datasets/web/records", self.collector, body.encode(), sent | headers)
        assert answer.status == 200, answer.body
        read: dict[str, Any] = json.loads(answer.body)
        return read

    def nursery(self) -> None:
        nursery(self.meta.client).cycle()

    def switch(self, *, on: bool = True) -> None:
        set_settings(self.meta.client, self.dataset, pb.DatasetSettings(batch_ids=on))

    def kql(self, batch_id: str) -> list[str]:
        query = f"web | where batch_id == '{batch_id}' | project event = tostring(attributes.event)"
        return sorted(row["event"] for row in self.gateway.query(query).json)

    def sql(self, batch_id: str) -> list[str]:
        query = f"SELECT attributes FROM web WHERE batch_id = '{batch_id}'"  # noqa: S608
        rows = self.gateway.query(query, language="sql").json
        return sorted(json.loads(row["attributes"])["event"] for row in rows)

    def arrow(self, batch_id: str, **options: Any) -> list[str]:
        columns = ["attributes", "batch_id"]
        with open_dataset(
            "web", meta_address=self.meta.address, columns=columns, **options
        ) as opened:
            table = opened.to_table().filter(pc.field("batch_id") == batch_id)
        return sorted(json.loads(str(text))["event"] for text in table.column(0).to_pylist())

    def files(self) -> list[Path]:
        root = Path("/", self.meta.settings.location.path)
        return [root / key_of(segment) for segment in find(self.meta.client)]

    def groups_read(self, batch_id: str) -> tuple[int, int]:
        """The row groups that DuckDB reads for a batch id, and the rows that it returns."""

        def measured(query: RunningQuery) -> tuple[int, int]:
            rows = query.reader().read_all().num_rows
            return sum(int(s["row_groups_scanned"]) for s in scans(profile(query))), rows

        queries = QueryDriver(self.meta)
        answer: tuple[int, int] = queries.run(
            queries.plan(f"web | where batch_id == '{batch_id}' | project attributes"), measured
        )
        return answer


@pytest.fixture
def shop(meta_server: MetaServer, gateway: GatewayServer) -> Iterator[Shop]:
    dataset = CatalogDriver(meta_server.client).dataset("web")
    created = meta_server.client.ingest_token.CreateIngestToken(
        ingest_token_pb2.CreateIngestTokenRequest(name="sender", dataset_name="web")
    )
    values = {"META_ADDRESS": meta_server.address, "GRPC_BIND": "127.0.0.1:0"}
    values |= {"HTTP_BIND": "127.0.0.1:0", "ID": uuid4().hex}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "collector"],
        env={**os.environ, **{f"COLLECTOR_{name}": value for name, value in values.items()}},
        stderr=subprocess.PIPE,
        text=True,
    )
    collector = CollectorProcess(process)
    threading.Thread(target=collector.read_log, daemon=True).start()
    try:
        collector.wait_for("ready")
        yield Shop(meta_server, gateway, collector, dataset, created.plaintext_token)
    finally:
        process.kill()
        collector.wait_for_end()


@pytest.mark.long
def test_the_records_of_a_request_are_found_by_the_id_of_its_answer(shop: Shop) -> None:
    before = shop.post("before")
    shop.nursery()
    shop.switch()
    first = shop.post("a", "b", "c")
    # A random digest: records without id and timestamp.
    second = shop.post("a")
    key = {"Idempotency-Key": "k"}
    keyed, repeat = shop.post("d", "e", **key), shop.post("other", **key)
    assert (repeat["repeated"], repeat["batch_id"]) == (True, keyed["batch_id"])
    expected = [(first, ["a", "b", "c"]), (second, ["a"]), (keyed, ["d", "e"]), (before, [])]

    fresh = [shop.arrow(answer["batch_id"], fresh=True) for answer, _ in expected]
    shop.nursery()

    assert fresh == [names for _, names in expected]
    for read in (shop.kql, shop.sql, shop.arrow):
        assert [read(answer["batch_id"]) for answer, _ in expected] == fresh, read
    shop.switch(on=False)
    assert "batch_id" not in pq.read_schema(_written_next(shop)).names


def _written_next(shop: Shop) -> Path:
    """Send a record to a nursery; returns its file."""
    written = set(shop.files())
    shop.post("next")
    shop.nursery()
    (path,) = set(shop.files()) - written
    return path


@pytest.mark.long
def test_few_files_are_read_for_a_batch_id_before_and_after_a_merge(
    shop: Shop, tmp_path: Path
) -> None:
    shop.switch()
    # Each file has several requests, so that the bounds of the column say little.
    answers = []
    for number in range(FILES):
        answers += [shop.post(f"{number}-{n}", f"{number}-{n}") for n in range(4)]
        shop.nursery()
    assert len(shop.files()) == FILES
    for path in shop.files():
        group = pq.ParquetFile(path).metadata.row_group(0)
        columns = {
            group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)
        }
        assert columns["batch_id"].bloom_filter_length > 0  # type: ignore[attr-defined]

    read = [shop.groups_read(answer["batch_id"]) for answer in answers]

    assert {rows for _, rows in read} == {2}
    # A filter may be wrong in one of a hundred cases.
    assert sum(groups for groups, _ in read) <= len(answers) * 1.2
    assert shop.groups_read("0" * 32) == (0, 0)
    promoted = get_settings(shop.meta.client, shop.dataset).promoted_columns.columns
    store = CollectorDriver(shop.meta.client, shop.dataset).store
    assert merge_all(shop.meta.client, store, tmp_path / "merge", read_layout((), promoted)) == 1
    assert len(shop.files()) == 1
    assert [shop.groups_read(answer["batch_id"]) for answer in answers] == [(1, 2)] * len(answers)
    assert shop.groups_read("0" * 31 + "1")[0] == 0


@pytest.mark.long
def test_objects_of_others_have_none(shop: Shop) -> None:
    shop.switch()
    now = time.time_ns() // SECOND * SECOND
    table = logs(2, now, batch_id=["7" * 32] * 2, event=["foreign"] * 2)
    ForeignWriter(shop.meta, shop.dataset).save(parquet(table), 2, now)
    answer = shop.post("ours")
    shop.nursery()

    for read in (shop.kql, shop.sql, shop.arrow):
        assert read("7" * 32) == []
        assert read(answer["batch_id"]) == ["ours"]
    count = "web | where isempty(batch_id) | summarize n = count()"
    assert shop.gateway.query(count).json == [{"n": 2}]
