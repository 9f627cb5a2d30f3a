"""Creates a backup: keeps the objects of a snapshot, then copies the snapshot."""

import hashlib
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from meta.client import MetaClient
from meta.errors import MetaError, VersionExpired
from meta.process.installed import installed_release
from meta.store.backups import snapshots
from meta.store.backups.snapshots import CopiedSnapshot
from meta.store.engine.pool import Database
from meta.v1 import backups_pb2 as pb
from segments.ids import new_uuid7
from segplane.backup.manifest import DUMP_NAME, FORMAT, BackupManifest, write_manifest
from segplane.backup.tools import find_tool, output_of
from segplane.terminal.whole_files import whole_file

# A snapshot is refused if merges behind it may be reaped by now; the next one is newer.
SNAPSHOTS_MAX = 5
CHUNK_BYTES = 1 << 20
PROGRESS_SECS = 1.0
# Seconds for which a failure waits for the answer that its keep has ended.
RELEASE_SECS = 10.0


class FolderUnusable(Exception):
    """A folder cannot take a backup; the message is one line."""


@dataclass(frozen=True, slots=True)
class Copying:
    """A backup to create: its folder, the programs (None = by PATH), and how long it is kept."""

    folder: Path
    tools: Path | None
    keep_secs: int
    note: str = ""


def create(
    client: MetaClient, database: Database, copying: Copying, progress: Callable[[int], None]
) -> BackupManifest:
    """Copy the database and return the manifest; `progress` gets the bytes written.

    A failure ends the keep and removes what was written. Raises MetaError, ToolFailed,
    FolderUnusable.
    """
    program = find_tool("pg_dump", copying.tools)
    _make_folder(copying.folder)
    backup_id = str(new_uuid7())
    try:
        with ExitStack() as exits:
            snapshot, backup = _keep(exits, client, database, copying, backup_id)
            environment = snapshots.environment_of(database)
            size_bytes, digest = _dump(program, snapshot, copying.folder, environment, progress)
        manifest = BackupManifest(
            FORMAT,
            backup_id,
            snapshot.version,
            backup.created_at_nanos,
            backup.ends_at_nanos,
            str(installed_release()),
            snapshot.revision,
            snapshot.server_version,
            DUMP_NAME,
            size_bytes,
            digest,
        )
        write_manifest(copying.folder, manifest)
    except BaseException:
        _release(client, backup_id)
        shutil.rmtree(copying.folder, ignore_errors=True)
        raise
    return manifest


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_empty = not any(folder.iterdir())
    except OSError as error:
        raise FolderUnusable(f"{folder} cannot be used: {error.strerror}") from None
    if not is_empty:
        raise FolderUnusable(f"{folder} is not empty: each backup has a folder of its own")


def _keep(
    exits: ExitStack, client: MetaClient, database: Database, copying: Copying, backup_id: str
) -> tuple[CopiedSnapshot, pb.Backup]:
    """Open a snapshot whose objects meta keeps; it is closed by `exits`."""
    for attempt in range(1, SNAPSHOTS_MAX + 1):
        with ExitStack() as opened:
            snapshot = opened.enter_context(snapshots.exported(database))
            request = pb.CreateBackupRequest(
                backup_id=backup_id,
                version=snapshot.version,
                keep_secs=copying.keep_secs,
                note=copying.note,
            )
            try:
                backup = client.operations.CreateBackup(request).backup
            except VersionExpired:
                if attempt == SNAPSHOTS_MAX:
                    raise
                continue
            exits.enter_context(opened.pop_all())
            return snapshot, backup
    raise AssertionError("the last attempt returns or raises")


def _dump(
    program: Path,
    snapshot: CopiedSnapshot,
    folder: Path,
    environment: dict[str, str],
    progress: Callable[[int], None],
) -> tuple[int, str]:
    """Copy a snapshot to a file that takes its name once it is complete; size and digest."""
    digest, size_bytes, shown_at = hashlib.sha256(), 0, time.monotonic()
    arguments = ["--format=custom", "--no-password", f"--snapshot={snapshot.name}"]
    with (
        whole_file(folder / DUMP_NAME, 0o600) as output,
        output_of(program, arguments, environment) as copied,
    ):
        while chunk := copied.read(CHUNK_BYTES):
            output.write(chunk)
            digest.update(chunk)
            size_bytes += len(chunk)
            if time.monotonic() - shown_at > PROGRESS_SECS:
                shown_at = time.monotonic()
                progress(size_bytes)
    progress(size_bytes)
    return size_bytes, digest.hexdigest()


def _release(client: MetaClient, backup_id: str) -> None:
    """End the keep of a backup that failed; if meta does not answer it ends by its time."""
    request = pb.ReleaseBackupRequest(backup_id=backup_id)
    try:
        client.operations.ReleaseBackup(request, timeout=RELEASE_SECS)
    except MetaError:
        return
