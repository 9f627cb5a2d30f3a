"""A database that goes back to an older state, by what operators do to databases."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg

from meta.client import MetaClient, location
from meta.config import Settings
from meta.errors import MetaError
from meta.server import server
from meta.server.server import RunningServer
from meta.v1 import operations_pb2, segment_lookup_pb2
from meta.watches.witness_watch import WitnessWatch
from segments.location import StoreLocation
from segplane.stack.postgres import SUPERUSER, EmbeddedPostgres
from segplane.stack.postgres_folder import choose_user, find_install
from tests.support.meta import standby
from tests.support.meta.catalog import CatalogDriver, Token
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import Writer
from tests.support.waiting import wait_until

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


def dump(folder: Path, url: str) -> Path:
    """Back up a database with pg_dump."""
    path = folder / "backup.dump"
    _run_program(folder, "pg_dump", "-Fc", "-f", str(path), "-d", url)
    return path


def restore(folder: Path, path: Path, url: str) -> None:
    """Put a backup into a database of the running server, with pg_restore."""
    options = ("--clean", "--if-exists", "--no-owner", "--exit-on-error")
    _run_program(folder, "pg_restore", *options, "-d", url, str(path))


def _run_program(folder: Path, name: str, *arguments: str) -> None:
    program = find_install(folder, choose_user(folder / "none")) / "bin" / name
    environment = {**os.environ, "PGUSER": SUPERUSER}
    done = subprocess.run([program, *arguments], capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode()


@dataclass(frozen=True)
class LoopDisk:
    """A disk of its own over an image, which can be copied while it is mounted."""

    folder: Path

    @property
    def image(self) -> Path:
        return self.folder / "disk.img"

    def is_available(self) -> bool:
        """Make the disk; False where this user or machine has no loop devices."""
        with self.image.open("wb") as file:
            file.truncate(256 << 20)
        made = subprocess.run(
            ["mkfs.ext4", "-q", self.image], capture_output=True, check=False
        ).returncode
        try:
            with self.mounted():
                return made == 0
        except subprocess.CalledProcessError:
            return False

    @contextmanager
    def mounted(self) -> Iterator[Path]:
        """Mount the disk."""
        mount = self.folder / "mount"
        mount.mkdir(exist_ok=True)
        command = ("mount", "-o", "loop", str(self.image), str(mount))
        subprocess.run(command, check=True, capture_output=True)
        try:
            mount.chmod(0o711)
            yield mount
        finally:
            subprocess.run(["umount", mount], check=True)

    def take_snapshot(self) -> None:
        """Copy the disk as it is at one moment."""
        mount = self.folder / "mount"
        subprocess.run(["fsfreeze", "--freeze", mount], check=True)
        try:
            shutil.copyfile(self.image, self.folder / "snapshot.img")
        finally:
            subprocess.run(["fsfreeze", "--unfreeze", mount], check=True)

    def put_back(self) -> None:
        """Put the snapshot in the place of the disk."""
        (self.folder / "snapshot.img").replace(self.image)


@dataclass(frozen=True)
class Archive:
    """An archive of the log of a Postgres, from which another one recovers to a named point."""

    folder: Path

    def settings(self) -> dict[str, str]:
        log = self.folder / "log"
        log.mkdir(exist_ok=True)
        log.chmod(0o777)
        return {
            "wal_level": "replica",
            "archive_mode": "on",
            "archive_command": f"cp %p {log}/%f",
        }

    def back_up(self, postgres: EmbeddedPostgres) -> None:
        """Copy the running server."""
        standby.copy_as_standby(postgres, self.folder / "recovered")

    def name_point(self, postgres: EmbeddedPostgres, name: str) -> None:
        """Name the present moment."""
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("SELECT pg_create_restore_point(%s)", (name,))

    def finish(self, postgres: EmbeddedPostgres) -> None:
        """Archive the rest of the log."""
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            row = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
        assert row is not None
        wait_until((self.folder / "log" / str(row[0])).exists, "the log is archived")

    def prepare_recovery(self, name: str) -> None:
        """Let the copy recover to the point when it is started, and then take writes."""
        cluster = self.folder / "recovered" / "cluster"
        (cluster / "standby.signal").rename(cluster / "recovery.signal")
        with (cluster / "postgresql.auto.conf").open("w") as file:
            file.write(
                f"restore_command = 'cp {self.folder}/log/%f %p'\n"
                f"recovery_target_name = '{name}'\nrecovery_target_action = 'promote'\n"
            )


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

    @property
    def location(self) -> StoreLocation:
        """The place of the objects."""
        return location(self.state().bucket)

    def can_create(self, name: str) -> bool:
        """Try to create a dataset, which draws a version; the server may have to compare first."""
        try:
            self.catalog.dataset(name)
        except MetaError:
            return False
        return True

    def version(self, dataset_name: str, as_of: int | None = None) -> int:
        request = segment_lookup_pb2.FindSegmentsRequest(
            dataset_names=[dataset_name], as_of_version=as_of
        )
        return self.client.segment_lookup.FindSegments(request).snapshot_version


@contextmanager
def running_meta(
    settings: Settings,
    url: str,
    objects: Path,
    *,
    keeps_witness: bool = True,
    revokes_on_restore: bool = False,
    makes_folder: bool = True,
) -> Iterator[RunningMeta]:
    """Run meta with a witness; `watch.run_round` is what its background job repeats."""
    if makes_folder:
        objects.mkdir(parents=True, exist_ok=True)
    running = server.start(
        replace(
            settings,
            database=replace(settings.database, url=url),
            location=StoreLocation.from_url(objects.absolute().as_uri()),
            keeps_witness=keeps_witness,
            revokes_on_restore=revokes_on_restore,
        )
    )
    try:
        with MetaClient(f"127.0.0.1:{running.port}") as client:
            yield RunningMeta(running, client, WitnessWatch(running.database, tick_secs=0.0))
    finally:
        running.stop(2.0)


def commit_and_merge(meta: RunningMeta, name: str) -> tuple[str, int, int]:
    """Ingest and merge into a dataset; its id, the last version drawn and the last poll's."""
    dataset = meta.catalog.dataset(name)
    collector, stream = meta.collector(f"{name}-collector", meta.catalog.token(dataset))
    for offset in range(3):
        collector.commit(stream, offset, dataset)
    version = meta.nursery.merge(dataset, stream, -1, 2)
    return dataset, version, meta.nursery.poll().response_seq
