"""Verifies a backup: restores it privately, and compares it with the bucket without a write.

    dump --digest--> private Postgres --> meta for inspection (loopback, no bucket, read-only)
                                             |
    bucket, credentials that read and list --+--> fsck --deep; catalog reconcile --dry-run

The private server and its folder are removed at the end.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from meta.client import MetaClient
from meta.config import DEFAULT_LOCATION, Settings
from meta.secrets import random_bytes
from meta.server import server
from meta.store.engine.pool import Database, DatabaseSettings
from segments.errors import ObjectMissing
from segments.location import Stores
from segments.store.interface import ObjectStore
from segplane.backup.manifest import BackupManifest, read_manifest
from segplane.backup.restoring import check_digest, restored
from segplane.fsck import catalog_check
from segplane.fsck.catalog_check import Report
from segplane.fsck.check_cursor import CatalogCursor
from segplane.fsck.not_known import UnknownObjects, find_not_known
from segplane.recovery import reconcile
from segplane.recovery.reconcile import ReconcileReport

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Outcome of a verification; `unknown_before` are objects of which the backup knows nothing.

    They are older than the backup, such as those that a writer registered a moment later; those of
    `unknown_since` are younger. `further_unknown` were not looked at.
    """

    manifest: BackupManifest
    check: Report
    unknown_before: UnknownObjects
    unknown_since: UnknownObjects
    further_unknown: int
    reconcile: ReconcileReport

    @property
    def is_sound(self) -> bool:
        """True if everything that the backup names is in the bucket, as its rows say."""
        return not self.check.num_violations and not self.reconcile.gone


def verify(
    folder: Path, store: ObjectStore, stores: Stores, scratch: Path | None, progress: Progress
) -> VerifyReport:
    """Verify the backup in a folder against its bucket.

    Raises ManifestUnusable, CopyDamaged, ToolFailed, PostgresError, MetaError, StoreError.
    """
    manifest = read_manifest(folder)
    dump = check_digest(folder, manifest)
    progress(f"{dump} is the copy of its manifest; it is restored")
    with restored(dump, manifest, scratch, progress) as url:
        progress("the restored database is compared with the bucket")
        with inspected(url, stores) as client:
            report, (before, since), further = _check(client, store, manifest)
        database = Database(DatabaseSettings(url))
        try:
            reconciled = reconcile.run(database, store, is_dry_run=True, progress=progress)
        finally:
            database.close()
    return VerifyReport(manifest, report, before, since, further, reconciled)


@contextmanager
def inspected(url: str, stores: Stores) -> Iterator[MetaClient]:
    """Serve a restored database on a port of loopback to this process alone.

    The server has no address of the bucket, runs none of its background jobs and refuses every
    call that changes anything. Of `stores` it knows the names.
    """
    secret = random_bytes(32).hex()
    settings = Settings(
        "127.0.0.1:0",
        DatabaseSettings(url, pool_size=8),
        DEFAULT_LOCATION,
        named_stores=stores.named_stores,
        threads=8,
        auth_token=secret,
        is_inspection=True,
    )
    running = server.start(settings)
    try:
        with MetaClient(f"127.0.0.1:{running.port}", auth_token=secret) as client:
            yield client
    finally:
        running.stop(0.0)


def _check(
    client: MetaClient, store: ObjectStore, manifest: BackupManifest
) -> tuple[Report, tuple[UnknownObjects, UnknownObjects], int]:
    """Run `fsck --deep`; returns unknown objects by age, and the number of further ones."""
    cursor = CatalogCursor()
    catalog_check.check_catalog(client, store, cursor, lambda _: None)
    report = catalog_check.report_of(cursor)
    catalog_check.check_deep(client, store, report)
    before: list[str] = []
    since: list[str] = []
    for key in cursor.unknown:
        try:
            is_older = store.head(key).modified_at_nanos < manifest.created_at_nanos
        except ObjectMissing:
            continue
        (before if is_older else since).append(key)
    unknown = find_not_known(client, store, before), find_not_known(client, store, since)
    return report, unknown, cursor.num_unknown - len(cursor.unknown)
