"""A private Postgres with a restored backup, which is removed at its end."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from meta import migrations
from meta.store.backups import inspection
from meta.store.engine.pool import Database, DatabaseSettings
from segplane.backup.manifest import BackupManifest
from segplane.backup.tools import ToolFailed, output_of
from segplane.stack.postgres import EmbeddedPostgres
from segplane.stack.postgres_folder import choose_user, find_install

_CHUNK_BYTES = 1 << 20
# The copy is made once and thrown away.
_SETTINGS = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


class CopyDamaged(Exception):
    """The dump is not the one that its manifest describes; the message is one line."""


def check_digest(folder: Path, manifest: BackupManifest) -> Path:
    """Compare a dump with its manifest and return its path. Raises CopyDamaged."""
    path, digest = folder / manifest.dump, hashlib.sha256()
    try:
        with path.open("rb") as dump:
            while chunk := dump.read(_CHUNK_BYTES):
                digest.update(chunk)
            size_bytes = dump.tell()
    except OSError as error:
        raise CopyDamaged(f"{path} cannot be read: {error.strerror}") from None
    if size_bytes != manifest.size_bytes:
        raise CopyDamaged(f"{path} has {size_bytes} bytes, its manifest says {manifest.size_bytes}")
    sha256 = digest.hexdigest()
    if sha256 != manifest.sha256:
        raise CopyDamaged(f"{path} has the SHA-256 {sha256}, not {manifest.sha256}")
    return path


@contextmanager
def restored(
    dump: Path, manifest: BackupManifest, scratch: Path | None, progress: Callable[[str], None]
) -> Iterator[str]:
    """Restore a dump into a private server; gives the URL of its database, which is read-only.

    `scratch` is the folder of its files, None = that of temporary files. Raises ToolFailed,
    PostgresError, MetaError.
    """
    folder = Path(tempfile.mkdtemp(prefix="segplane-backup-", dir=scratch))
    try:
        # A process of root runs Postgres as another user, who enters its own folder only.
        folder.chmod(0o711)
        with EmbeddedPostgres(folder / "postgres", progress, _SETTINGS) as postgres:
            bin_folder = find_install(folder, choose_user(folder / "postgres")) / "bin"
            _restore(bin_folder / "pg_restore", dump, postgres.url)
            database = Database(DatabaseSettings(postgres.url))
            try:
                migrations.upgrade(database)
                with database.write() as tx:
                    inspection.prepare(tx, manifest.version)
            finally:
                database.close()
            yield postgres.url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _restore(program: Path, dump: Path, url: str) -> None:
    """Fill an empty database; its owner and rights are those of the private server.

    That has none of the other server's roles, which policies name.
    """
    without = ("--no-owner", "--no-privileges", "--no-policies")
    arguments = [*without, "--exit-on-error", f"--dbname={url}", str(dump)]
    try:
        with output_of(program, arguments, {}) as said:
            said.read()
    except ToolFailed as error:
        raise ToolFailed(f"the backup cannot be restored: {error}") from None
