"""Files made visible to an engine, against PyIceberg's SqlCatalog and DuckLake on one Postgres.

Sixteen callers publish, each to its own table, a file a commit and a hundred a commit. Ours
are RegisterMergedSegment and RegisterMergedSegments, by which nurseries publish. Beside them one
reader loads table after table from the catalog, ours by the gateway's loadTable, until each shows
its last file. That time counts. Afterwards every table is planned once, and must have all files.

No peer is measured where `make bench-peers` has not installed them.
"""

import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.catalog.rest import RestCatalog

from benchmarks.control.peers import NAMES, PYTHON, measure_peer
from benchmarks.harness import call_load, registrations
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.gateway import BenchGateway, bench_gateway
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from benchmarks.register_merged_segment import BULK as BULK_METHOD
from benchmarks.register_merged_segment import SINGLE, bulk_request
from meta.v1.operations_pb2 import RegisterMergedSegmentsResponse
from segplane.stack.postgres import EmbeddedPostgres

CALLERS = 16
# Files of a bulk commit.
BULK = 100
# Commits of each caller of ours, by their files: about as long as a peer runs.
CALLS = {1: 1_600, BULK: 80}
PEER_SECS = 10.0
PAUSE_SECS = 0.05
SHOWN_SECS_MAX = 120.0


@dataclass(frozen=True, slots=True)
class _Scene:
    """Our server and gateway, and the Postgres that peers use too."""

    server: BenchServer
    gateway: BenchGateway
    postgres: EmbeddedPostgres

    def publish(self, files: int) -> float:
        """Files made visible a second, so many in a commit."""
        calls = CALLS[files]
        made = registrations.entries(
            self.server.database_url, CALLERS, calls, streams_of_each=files
        )
        of_each = [made[start : start + files] for start in range(0, len(made), files)]
        load = CallLoad(
            self.server.address,
            BULK_METHOD if files > 1 else SINGLE,
            [list(_requests(entries, calls)) for entries in of_each],
        )
        tables = [entries[0].dataset_id for entries in of_each]
        assert self.postgres.pid is not None
        pids = {
            "meta": self.server.pid,
            "gateway": self.gateway.pid,
            "Postgres": self.postgres.pid,
        }
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        reader = _Reader(self.gateway, dict.fromkeys(tables, calls * files))
        began = time.monotonic()
        reader.start()
        rates = call_load.run(load)
        reader.join(SHOWN_SECS_MAX)
        assert not reader.is_alive()
        secs = reader.ended - began
        total = CALLERS * calls * files
        assert rates.calls * files == total
        _check_replies(rates.replies, files)
        used = {name: cpu_seconds(pid) - before[name] for name, pid in pids.items()}
        _check_files(self.gateway, tables, calls * files)
        cpu = ", ".join(f"{name} {1_000 * cpu / total:.3f}" for name, cpu in used.items())
        print(
            f"  ours, {files} in a commit: {total / secs:.0f} files/s"
            f" ({total / rates.seconds:.0f} registered/s), {reader.loads} loads;"
            f" ms of CPU a file: {cpu}",
            flush=True,
        )
        return total / secs


class _Reader(threading.Thread):
    """Loads tables in turn, until each shows its number of files."""

    def __init__(self, gateway: BenchGateway, files: Mapping[str, int]) -> None:
        super().__init__(daemon=True)
        self._gateway, self._files = gateway, files
        self.loads, self.ended = 0, 0.0

    def run(self) -> None:
        """Read; a pause after each load."""
        connection, etags = self._gateway.connect(), dict.fromkeys(self._files, "")
        waiting = dict(self._files)
        while waiting:
            for table, files in list(waiting.items()):
                etags[table], metadata = self._gateway.load(table, connection, etags[table])
                self.loads += 1
                if metadata is not None and metadata["snapshots"]:
                    summary = metadata["snapshots"][-1]["summary"]
                    if summary["total-data-files"] == str(files):
                        del waiting[table]
                time.sleep(PAUSE_SECS)
        self.ended = time.monotonic()


def run() -> list[Result]:
    """Ours in both forms, then each peer that is installed."""
    rates: dict[tuple[str, int], float] = {}
    with tempfile.TemporaryDirectory() as folder, bench_postgres() as postgres:
        settings = {"META_OBJECT_STORE_URL": Path(folder).as_uri()}
        with bench_server(postgres.url, settings) as server, bench_gateway(server.address) as gate:
            scene = _Scene(server, gate, postgres)
            for files in CALLS:
                rates["ours", files] = scene.publish(files)
        if PYTHON.exists():
            for name in NAMES:
                for files in CALLS:
                    rates[name, files] = measure_peer(
                        postgres, name, CALLERS, PEER_SECS, files, is_read=True
                    )
    return list(_compared(rates))


def _compared(rates: Mapping[tuple[str, int], float]) -> Iterator[Result]:
    for (name, files), rate in rates.items():
        if name != "ours":
            form = "a file a commit" if files == 1 else f"{files} files a commit"
            yield compare(
                f"table_publishing_{name}" + ("_in_bulk" if files > 1 else ""),
                rates["ours", files],
                rate,
                reference_name=NAMES[name],
                unit=f"files made visible/s, {CALLERS} callers, {form} on both sides",
                # A hundred files are one row and one manifest more of PyIceberg's, and a hundred
                # registrations of ours, each with its stream, its fence and its version.
                bar=0.0 if (name, files) == ("iceberg", BULK) else 20.0,
            )


def _requests(entries: Sequence[registrations.Entry], calls: int) -> Iterator[bytes]:
    for offset in range(calls):
        if len(entries) > 1:
            yield bulk_request(entries, offset)
        else:
            yield registrations.request(entries[0], offset).SerializeToString()


def _check_replies(replies: Sequence[bytes], files: int) -> None:
    for reply in replies if files > 1 else ():
        results = RegisterMergedSegmentsResponse.FromString(reply).results
        assert len(results) == files
        assert not any(result.HasField("refusal") for result in results)


def _check_files(gateway: BenchGateway, tables: Sequence[str], files: int) -> None:
    """Plan every table as an engine does."""
    catalog = RestCatalog("bench", uri=f"http://127.0.0.1:{gateway.port}/iceberg")
    for table in tables:
        planned = catalog.load_table(f"default.{table}").scan().plan_files()
        assert len({task.file.file_path for task in planned}) == files
