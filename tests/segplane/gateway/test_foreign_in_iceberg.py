"""A file of others is in Iceberg tables without an operator's command: meta, janitor and worker."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from dataplane.location import Locator
from janitor import config as janitor_config
from janitor import loop as janitor_loop
from merge_worker.config import Settings as WorkerSettings
from merge_worker.loop import Worker
from meta.process.shutdown import Shutdown
from tests.support.foreign_files import ForeignWriter, logs, parquet
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.merge_worker.scripted import Here
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

SOON = 0.1


@contextmanager
def running_janitor(server: MetaServer) -> Iterator[None]:
    """Run the jobs of a janitor; the intervals alone are shorter than an operator's."""
    settings = janitor_config.Settings(
        meta_address=server.address, footer_interval_secs=SOON, merge_interval_secs=SOON
    )
    shutdown = Shutdown()
    thread = threading.Thread(target=janitor_loop.run, args=(settings, shutdown))
    thread.start()
    yield
    shutdown.request()
    thread.join()


@contextmanager
def running_worker(server: MetaServer, folder: Path) -> Iterator[None]:
    """Run a merge worker that merges in this process."""
    settings = WorkerSettings(interval_secs=SOON, interval_secs_max=SOON, work_dir=folder)
    locator = Locator(server.client, "merge_worker/test")
    worker = Worker(settings, server.client, Here(), Shutdown(), threading.Event(), locator)
    thread = threading.Thread(target=worker.work)
    thread.start()
    yield
    worker.shutdown.request()
    thread.join()


@pytest.fixture
def others(meta_server: MetaServer, segments: SegmentWriter) -> ForeignWriter:
    return ForeignWriter(meta_server, segments.dataset)


def table_of(gateway: GatewayServer) -> Table:
    return load_catalog("segplane", type="rest", uri=gateway.uri).load_table("default.web")


def bodies(table: Table) -> list[str]:
    return sorted(map(str, table.scan(selected_fields=("body",)).to_arrow()["body"].to_pylist()))


def test_iceberg_shows_mapped_files_without_a_command(
    meta_server: MetaServer, gateway: GatewayServer, others: ForeignWriter, tmp_path: Path
) -> None:
    for _ in range(2):
        others.save(parquet(logs(3)), 3)
    others.save(b"rows of somebody", 3)
    assert table_of(gateway).properties["segplane.left-out-segments"] == "3"

    with running_janitor(meta_server), running_worker(meta_server, tmp_path):
        wait_until(
            lambda: table_of(gateway).properties.get("segplane.left-out-segments") == "1",
            "the table has the files that can be mapped",
        )

    table = table_of(gateway)
    assert bodies(table) == sorted(["line 0", "line 1", "line 2"] * 2)
    assert "not a readable Parquet file" in table.properties["segplane.left-out"]
