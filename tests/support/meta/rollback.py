"""A database that goes back to an older state, by what operators do to databases."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from meta.client import MetaClient
from meta.config import Settings
from meta.server import server
from meta.server.server import RunningServer
from meta.v1 import operations_pb2, segment_lookup_pb2
from meta.watches.witness_watch import WitnessWatch
from segplane.stack.postgres import SUPERUSER, EmbeddedPostgres
from segplane.stack.postgres_folder import choose_user, find_install
from tests.support.meta.catalog import CatalogDriver, Token
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import Writer

QUICK = {"fsync": "off"}


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that the user of Postgres can enter."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-rollback-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_postgres(folder: Path, **settings: str) -> Iterator[EmbeddedPostgres]:
    """Run Postgres over a folder."""
    with EmbeddedPostgres(folder, settings={**QUICK, **settings}) as postgres:
        yield postgres


def copy_folder(source: Path, target: Path) -> None:
    """Put a copy of a folder of Postgres in the place of another."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", source, target], check=True)


def dump(postgres: EmbeddedPostgres, folder: Path, url: str) -> Path:
    """Back up a database with pg_dump."""
    path = folder / "backup.dump"
    _client_program(folder, "pg_dump", "-Fc", "-f", str(path), "-d", url)
    return path


def restore(postgres: EmbeddedPostgres, folder: Path, path: Path, url: str) -> None:
    """Put a backup into a database of the running server, with pg_restore."""
    options = ("--clean", "--if-exists", "--no-owner", "--exit-on-error")
    _client_program(folder, "pg_restore", *options, "-d", url, str(path))


def _client_program(folder: Path, name: str, *arguments: str) -> None:
    user = choose_user(folder / "none")
    program = find_install(folder, user) / "bin" / name
    done = subprocess.run(
        [program, *arguments], capture_output=True, env={**os.environ, "PGUSER": SUPERUSER}
    )
    assert done.returncode == 0, done.stderr.decode()


@dataclass(frozen=True)
class RunningMeta:
    """A meta of this process with its drivers."""

    running: RunningServer
    client: MetaClient
    watch: WitnessWatch
    catalog: CatalogDriver = field(init=False)
    nursery: NurseryDriver = field(init=False)
    writer: Writer = field(init=False)

    def __post_init__(self) -> None:
        for name, driver in (
            ("catalog", CatalogDriver),
            ("nursery", NurseryDriver),
            ("writer", Writer),
        ):
            object.__setattr__(self, name, driver(self.client))

    def collector(self, name: str, token: Token) -> tuple[IngestionDriver, str]:
        """Register a collector; its driver and stream."""
        driver = IngestionDriver(self.client, name)
        return driver, driver.register(token).stream_id

    def state(self) -> operations_pb2.GetServerStateResponse:
        return self.client.operations.GetServerState(operations_pb2.GetServerStateRequest())

    def version(self, dataset_name: str, as_of: int | None = None) -> int:
        request = segment_lookup_pb2.FindSegmentsRequest(
            dataset_names=[dataset_name], as_of_version=as_of
        )
        return self.client.segment_lookup.FindSegments(request).snapshot_version


@contextmanager
def running_meta(settings: Settings, url: str, objects: Path) -> Iterator[RunningMeta]:
    """Run meta with a witness; `watch.run_round` is what its background job repeats."""
    objects.mkdir(parents=True, exist_ok=True)
    database = replace(settings.database, url=url)
    location = replace(settings.location, path=str(objects.absolute()).lstrip("/"))
    running = server.start(
        replace(settings, database=database, location=location, keeps_witness=True)
    )
    try:
        with MetaClient(f"127.0.0.1:{running.port}") as client:
            yield RunningMeta(running, client, WitnessWatch(running.database, tick_secs=0.0))
    finally:
        running.stop(2.0)
