"""A driver of backups whose objects are kept."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from meta.v1 import backups_pb2 as pb
from meta.v1 import operations_pb2

HOUR = 3_600


@dataclass(frozen=True)
class BackupDriver:
    """Creates, lists and releases backups."""

    client: Any

    def version(self) -> int:
        """Read the version of the database."""
        request = operations_pb2.GetServerStateRequest()
        return int(self.client.operations.GetServerState(request).version)

    def create(self, version: int | None = None, **fields: Any) -> pb.Backup:
        """Keep the objects of a version, or of the current one."""
        request = pb.CreateBackupRequest(
            version=self.version() if version is None else version,
            **{"backup_id": str(uuid4()), "keep_secs": HOUR, **fields},
        )
        backup: pb.Backup = self.client.operations.CreateBackup(request).backup
        return backup

    def list(self) -> list[pb.Backup]:
        return list(self.client.operations.ListBackups(pb.ListBackupsRequest()).backups)

    def release(self, backup_id: str) -> bool:
        request = pb.ReleaseBackupRequest(backup_id=backup_id)
        return bool(self.client.operations.ReleaseBackup(request).success)


def live_backups(client: Any, dataset_id: str) -> None:
    """Make every call about backups once."""
    driver = BackupDriver(client)
    backup = driver.create()
    driver.list()
    driver.release(backup.id)
