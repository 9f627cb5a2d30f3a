"""Backups: what a copy of the database names is kept until it ends."""

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.access import audit
from meta.store.backups import backups
from meta.store.backups.backups import Backup, NewBackup
from meta.store.deletion import backup_sizes
from meta.store.engine.pool import Transaction
from meta.store.versions import clock
from meta.v1 import backups_pb2 as pb

KEEP_SECS_MAX = 3_024_000
NOTE_CHARACTERS_MAX = 1_000


def create_backup(server: ServerParts, request: pb.CreateBackupRequest) -> pb.CreateBackupResponse:
    """Keep the objects of a version that was copied."""
    if len(request.note) > NOTE_CHARACTERS_MAX:
        raise InvalidArgument(
            f"note has {len(request.note)} characters, more than {NOTE_CHARACTERS_MAX}",
            field="note",
        )
    new = NewBackup(
        checks.uuid(request.backup_id, "backup_id"),
        checks.count(request.version, "version"),
        checks.count(request.keep_secs, "keep_secs", low=1, high=KEEP_SECS_MAX),
        request.note and checks.visible(request.note, "note"),
    )
    grace_secs = server.settings.lifetimes.tombstone_grace

    def work(tx: Transaction) -> Backup:
        backup, is_new = backups.create(tx, new, grace_secs)
        if is_new:
            detail = f"version {new.version}, kept for {new.keep_secs} s"
            audit.note(tx, "CreateBackup", new.id, detail)
        return backup

    return pb.CreateBackupResponse(backup=filled(pb.Backup, server.transactions.write(work)))


def list_backups(server: ServerParts, request: pb.ListBackupsRequest) -> pb.ListBackupsResponse:
    """List the backups that have not ended, with what they keep."""
    grace_secs = server.settings.lifetimes.tombstone_grace

    def work(tx: Transaction) -> pb.ListBackupsResponse:
        listed = backups.list_open(tx)
        sizes = backup_sizes.measure(tx, [backup.version for backup in listed], grace_secs)
        reply = pb.ListBackupsResponse(database_time_nanos=clock.now_nanos(tx))
        for backup, kept in zip(listed, sizes, strict=True):
            message = filled(pb.Backup, backup)
            message.MergeFrom(filled(pb.Backup, kept))
            reply.backups.append(message)
        return reply

    return server.transactions.read(work)


def release_backup(
    server: ServerParts, request: pb.ReleaseBackupRequest
) -> pb.ReleaseBackupResponse:
    """End a backup at once."""
    backup_id = checks.uuid(request.backup_id, "backup_id")

    def work(tx: Transaction) -> bool:
        version = backups.release(tx, backup_id)
        if version is not None:
            audit.note(tx, "ReleaseBackup", backup_id, f"version {version}")
        return version is not None

    return pb.ReleaseBackupResponse(success=server.transactions.write(work))
