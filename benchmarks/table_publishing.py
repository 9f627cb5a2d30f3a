"""Files made visible to an engine, one commit each, against PyIceberg's SqlCatalog and DuckLake.

All three keep their catalog in the same Postgres, which flushes every commit. Ours is SaveSegments
of many writers, and one reader that loads the table over and over, until it shows the last file.
The peers have one writer, because commits of several to one table conflict; they begin with an
empty table, whose metadata grows with every commit. A peer is not measured where its libraries are
missing.
"""

import json
import os
import resource
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import call_load
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.gateway import BenchGateway, bench_gateway, segment_of
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from meta.v1 import catalog_pb2, ingestion_pb2
from segments.parquet.schema import section_schema
from segplane.postgres import EmbeddedPostgres

WRITERS, FILES_OF_EACH = 32, 250
PEER_FILES = 200
READERS_PYTHON = Path("build/readers/python/bin/python")
_SAVE = "/meta.v1.IngestionService/SaveSegments"
_TABLE = "web"
_SCHEMA = pa.schema(
    [
        pa.field(one.name, one.type.value_type if pa.types.is_dictionary(one.type) else one.type)
        for one in section_schema("logs", ())
        if not pa.types.is_timestamp(one.type)
    ]
    + [pa.field("timestamp", pa.timestamp("us", "UTC"))]
)

# Adds a file at a time to a table of DuckLake; prints the seconds that it took.
_DUCKLAKE = """
import json, sys, time
from importlib.metadata import files
import duckdb
told = json.load(sys.stdin)
database = duckdb.connect()
for name in ("postgres_scanner", "ducklake"):
    found = files("duckdb-extension-" + name.replace("_", "-"))
    (path,) = [one.locate() for one in found if one.name == name + ".duckdb_extension"]
    database.execute(f"LOAD '{path}'")
postgres, folder, first = told["postgres"], told["folder"], told["files"][0]
database.execute(f"ATTACH 'ducklake:postgres:{postgres}' AS lake (DATA_PATH '{folder}')")
database.execute(f"CREATE TABLE lake.web AS FROM read_parquet('{first}') LIMIT 0")
began, cpu = time.perf_counter(), time.process_time()
for path in told["files"]:
    database.execute(f"CALL ducklake_add_data_files('lake', 'web', '{path}')")
secs, cpu = time.perf_counter() - began, time.process_time() - cpu
(rows,) = database.execute("SELECT count(*) FROM lake.web").fetchone()
print(json.dumps({"secs": secs, "cpu": cpu, "rows": rows}))
"""


def run() -> list[Result]:
    """Ours, then each peer that is installed."""
    with tempfile.TemporaryDirectory() as folder, bench_postgres() as postgres:
        store = Path(folder, "objects")
        store.mkdir()
        settings = {"META_OBJECT_STORE_URL": store.as_uri()}
        with bench_server(postgres.url, settings) as server, bench_gateway(server.address) as gate:
            ours = _publish(server, gate, postgres)
        peers: dict[str, Callable[[], float]] = {
            "PyIceberg's SqlCatalog": lambda: _publish_pyiceberg(postgres, Path(folder)),
        }
        if READERS_PYTHON.exists():
            peers["DuckLake"] = lambda: _publish_ducklake(postgres, Path(folder))
        return [
            compare(
                f"table_publishing_{name.split()[-1].lower()}",
                ours,
                measure(),
                reference_name=name,
                unit="files made visible/s",
                # DuckLake adds rows to the same tables of Postgres that any catalog would.
                bar=20.0 if name != "DuckLake" else 0.0,
            )
            for name, measure in peers.items()
        ]


def _publish(server: BenchServer, gateway: BenchGateway, postgres: EmbeddedPostgres) -> float:
    with server.client() as client:
        request = catalog_pb2.CreateDatasetRequest(name=_TABLE)
        dataset = client.catalog.CreateDataset(request).id
    requests = [
        [
            ingestion_pb2.SaveSegmentsRequest(
                segments=[segment_of(dataset, writer * FILES_OF_EACH + number)]
            ).SerializeToString()
            for number in range(FILES_OF_EACH)
        ]
        for writer in range(WRITERS)
    ]
    connection = gateway.connect()

    def read() -> None:
        etag, shown = "", "0"
        while shown != str(WRITERS * FILES_OF_EACH):
            etag, metadata = gateway.load(_TABLE, connection, etag)
            if metadata is not None:
                shown = metadata["snapshots"][-1]["summary"]["total-data-files"]
            time.sleep(0.05)

    pids = (server.pid, gateway.pid, _pid(postgres))
    before, writers = sum(map(cpu_seconds, pids)), _children_seconds()
    reader, began = threading.Thread(target=read), time.perf_counter()
    reader.start()
    rates = call_load.run(CallLoad(server.address, _SAVE, requests))
    reader.join()
    secs = time.perf_counter() - began
    assert rates.calls == WRITERS * FILES_OF_EACH
    used = sum(map(cpu_seconds, pids)) - before + _children_seconds() - writers
    return _report("segplane", rates.calls, secs, used)


def _report(name: str, files: int, secs: float, cpu_secs: float) -> float:
    # Beside the rate, which another load on the machine lowers.
    print(f"{name}: {files / secs:.1f} files/s, {1_000 * cpu_secs / files:.2f} ms of CPU a file")
    return files / secs


def _pid(postgres: EmbeddedPostgres) -> int:
    assert postgres.pid is not None
    return postgres.pid


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _publish_pyiceberg(postgres: EmbeddedPostgres, folder: Path) -> float:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    url = postgres.url.replace("postgresql://", "postgresql+psycopg://", 1)
    catalog = SqlCatalog("bench", uri=url, warehouse=(folder / "warehouse").as_uri())
    catalog.create_namespace("default")
    table = catalog.create_table("default.web", schema=_SCHEMA)
    began, cpu = time.perf_counter(), time.process_time() + cpu_seconds(_pid(postgres))
    for number in range(PEER_FILES):
        file = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"s3://bucket/{number}.parquet",
            file_format=FileFormat.PARQUET,
            partition=Record(),
            record_count=1_000,
            file_size_in_bytes=100_000,
            sort_order_id=None,
            spec_id=0,
            key_metadata=None,
        )
        with table.transaction() as change, change.update_snapshot().fast_append() as append:
            append.append_data_file(file)
    secs = time.perf_counter() - began
    used = time.process_time() + cpu_seconds(_pid(postgres)) - cpu
    shown = catalog.load_table("default.web").current_snapshot()
    assert shown is not None
    assert shown.summary is not None
    assert shown.summary["total-data-files"] == str(PEER_FILES)
    return _report("PyIceberg", PEER_FILES, secs, used)


def _publish_ducklake(postgres: EmbeddedPostgres, folder: Path) -> float:
    written = folder / "files"
    written.mkdir()
    rows = pa.table({one.name: pa.nulls(1, one.type) for one in _SCHEMA}, schema=_SCHEMA)
    pq.write_table(rows, written / "0.parquet")
    files = [written / f"{number}.parquet" for number in range(PEER_FILES)]
    for path in files[1:]:
        os.link(files[0], path)
    url = urlsplit(postgres.url)
    host = parse_qs(url.query)["host"][0]
    told = {
        "postgres": f"dbname={url.path[1:]} host={host} user={url.username}",
        "folder": str(folder / "lake"),
        "files": list(map(str, files)),
    }
    before = cpu_seconds(_pid(postgres))
    done = subprocess.run(
        [str(READERS_PYTHON), "-c", _DUCKLAKE],
        input=json.dumps(told),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["rows"] == PEER_FILES
    used = answer["cpu"] + cpu_seconds(_pid(postgres)) - before
    return _report("DuckLake", PEER_FILES, answer["secs"], used)
