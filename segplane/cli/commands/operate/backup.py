"""segplane backup: copies of the database whose objects stay in the bucket until they end."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from segplane.cli.command import command, group
from segplane.cli.commands.operate.backup_verify import verify
from segplane.cli.commands.run.running import DatabaseUrl
from segplane.cli.connection import open_database, refusal
from segplane.cli.messages import MetaClient
from segplane.cli.options import DataDir
from segplane.cli.output import Answer, facts, listing, message_dict, size_text, time_text
from segplane.cli.parameters import Option, Positional
from segplane.cli.settings_of_datasets import seconds
from segplane.stack.defaults import DEFAULT_DATA_DIR

if TYPE_CHECKING:
    from meta.v1 import backups_pb2 as pb

app = group("Back the database up, and keep what the backups name in the bucket.")
command(app, "backup verify /backups/2026-12-01 --object-store-url s3://bucket/path")(verify)
Folder = Annotated[Path, Positional(metavar="FOLDER")]
Tools = Annotated[Path | None, Option("--tools", metavar="FOLDER")]


@command(app, "backup create /backups/2026-12-01 --database-url postgresql://segplane@db/segplane")
def create(
    client: MetaClient,
    folder: Folder,
    *,
    keep: Annotated[str, Option(metavar="AGE")] = "35d",
    note: str = "",
    tools: Tools = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    database_url: DatabaseUrl = "",
) -> Answer:
    """Copy the database to a folder, and keep the objects that the copy names until its end.

    The server's own pg_dump copies one snapshot beside all writers. Everything that this snapshot
    shows, or that waited in it for a nursery, stays in the bucket; all else is deleted as before.

    Options:
        folder: New or empty folder for the copy and its manifest, readable by its owner only.
        keep: Age such as 7d at which the objects may be deleted, at most 35d.
        note: Text that `backup list` shows.
        tools: Folder of pg_dump; without it, PATH is searched. With --data-dir those of the
            embedded Postgres are used.
    """
    # The `cli` extra does not install meta's server side.
    from segplane.backup import creating
    from segplane.backup.creating import Copying, FolderUnusable
    from segplane.backup.tools import ToolFailed

    url = database_url
    if not url:
        url, tools = _embedded(data_dir, tools)
    copying = Copying(folder, tools, seconds(keep) or 0, note)
    try:
        with open_database(url) as database:
            manifest = creating.create(client, database, copying, _say_copied)
    except (ToolFailed, FolderUnusable) as error:
        raise refusal(str(error)) from None
    shown = [
        ("id", manifest.backup_id),
        ("version", manifest.version),
        ("copied", size_text(manifest.size_bytes)),
        ("objects kept until", time_text(manifest.kept_until_nanos)),
        ("check it with", f"segplane backup verify {folder}"),
    ]
    return Answer(manifest, facts(shown))


@command(app, "backup list", name="list")
def list_(client: MetaClient) -> Answer:
    """List the backups whose objects are kept, and the bytes that they keep from deletion."""
    # Not on the path of every command.
    from meta.v1 import backups_pb2

    reply = client.operations.ListBackups(backups_pb2.ListBackupsRequest())
    now_nanos = reply.database_time_nanos
    answer = listing(
        reply.backups,
        {
            "id": "id",
            "version": "version",
            "created": lambda backup: time_text(backup.created_at_nanos),
            "ends": lambda backup: time_text(backup.ends_at_nanos),
            "keeps": lambda backup: size_text(_bytes(backup)),
            "it alone": lambda backup: size_text(backup.sole_bytes),
            "a day": lambda backup: size_text(_daily(backup, now_nanos)),
            "at its end": lambda backup: size_text(_at_end(backup, now_nanos)),
            "note": "note",
        },
    )
    data = [
        message_dict(backup)
        | {"bytes_per_day": _daily(backup, now_nanos), "bytes_at_end": _at_end(backup, now_nanos)}
        for backup in reply.backups
    ]
    return Answer(data, answer.text)


@command(app, "backup release 0197c9a2-7f3e-7000-8000-000000000001")
def release(client: MetaClient, backup_id: str) -> Answer:
    """End a backup: what it alone keeps is deleted, and it can no longer be restored whole.

    Options:
        backup_id: Id, as `backup list` and the manifest show it.
    """
    from meta.v1 import backups_pb2

    request = backups_pb2.ReleaseBackupRequest(backup_id=backup_id)
    reply = client.operations.ReleaseBackup(request)
    if not reply.success:
        raise refusal(f"there is no backup {backup_id}: it has ended or was released")
    return Answer(reply)


def _embedded(data_dir: Path, tools: Path | None) -> tuple[str, Path]:
    """The running database of a stack on this machine, and the programs of its release."""
    from segplane.stack.postgres import running_url
    from segplane.stack.postgres_folder import PostgresError, choose_user, find_install

    folder = data_dir / "postgres"
    try:
        url = running_url(folder)
        return url, tools or find_install(folder, choose_user(folder / "cluster")) / "bin"
    except PostgresError as error:
        raise refusal(str(error)) from None


def _say_copied(size_bytes: int) -> None:
    print(f"{size_text(size_bytes)} copied", file=sys.stderr)


def _bytes(backup: "pb.Backup") -> int:
    """Bytes that it keeps past their time: of segments and baby segments."""
    return backup.kept_bytes + backup.baby_bytes


def _daily(backup: "pb.Backup", now_nanos: int) -> int:
    """Bytes a day that became due since it was created."""
    age_days = max(now_nanos - backup.created_at_nanos, 1) / (86_400 * 10**9)
    return int(backup.kept_bytes / max(age_days, 1 / 24))


def _at_end(backup: "pb.Backup", now_nanos: int) -> int:
    """Bytes that it keeps at its end, at the rate of change since it was created."""
    remaining_days = max(backup.ends_at_nanos - now_nanos, 0) / (86_400 * 10**9)
    return _bytes(backup) + int(_daily(backup, now_nanos) * remaining_days)
