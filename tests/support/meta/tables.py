"""A driver of gateways: registers objects and snapshots of a table, and hands them out."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from segments.keys import new_table_key
from tests.support.meta.server import MetaServer


def digest_of(name: str) -> bytes:
    return sha256(name.encode()).digest()


@dataclass(frozen=True)
class TableDriver:
    """Registers metadata of one dataset's table; objects are known by names."""

    client: MetaClient
    dataset: str
    dataset_name: str = "web"

    def get(self, version: int | None = None) -> pb.GetDatasetTableResponse:
        request = pb.GetDatasetTableRequest(dataset_name=self.dataset_name, version=version)
        return self.client.operations.GetDatasetTable(request)

    def put(self, *names: str, epoch_behind_secs: int = 0) -> list[str]:
        """Register an object a name; returns the keys that are registered."""
        epoch = self.get().epoch - epoch_behind_secs
        return self.put_keys(
            {name: new_table_key(self.dataset, epoch, "manifest.avro") for name in names}
        )

    def put_keys(self, keys: dict[str, str]) -> list[str]:
        """Register keys, or look up the names whose key is empty."""
        objects = [
            pb.TableObject(digest=digest_of(name), object_key=key, size_bytes=7)
            for name, key in keys.items()
        ]
        request = pb.PutTableObjectsRequest(dataset_id=self.dataset, objects=objects)
        reply = self.client.operations.PutTableObjects(request)
        return [one.object_key for one in reply.objects]

    def find(self, *names: str) -> list[str]:
        return self.put_keys(dict.fromkeys(names, ""))

    def snapshot(self, version: int, *manifests: str) -> pb.TableSnapshot:
        """Register a snapshot, and its list of manifests."""
        self.put(f"list {version}")
        request = pb.PutTableSnapshotRequest(
            dataset_id=self.dataset,
            version=version,
            manifest_list_digest=digest_of(f"list {version}"),
            manifest_digests=[digest_of(name) for name in manifests],
        )
        return self.client.operations.PutTableSnapshot(request).snapshot

    def hand_out(self, document: str, versions: Sequence[int]) -> str:
        request = pb.HandOutTableRequest(
            dataset_id=self.dataset,
            dataset_name=self.dataset_name,
            versions=versions,
            document_digest=digest_of(document),
        )
        return self.client.operations.HandOutTable(request).object_key

    def expire(self, limit: int = 0) -> list[str]:
        """Remove all that is due; returns the keys to delete."""
        keys: list[str] = []
        while True:
            reply = self.client.operations.ExpireTableObjects(
                pb.ExpireTableObjectsRequest(limit=limit)
            )
            keys += reply.object_keys
            if not reply.has_more:
                return keys


def execute(meta_server: MetaServer, statement: str) -> None:
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql(statement)


def pass_grace(meta_server: MetaServer) -> None:
    """Let the grace of all that was handed out pass."""
    for name in ("table_objects", "table_snapshots"):
        execute(
            meta_server,
            f"UPDATE {name} SET handed_out_at = handed_out_at - interval '61 s',"  # noqa: S608
            " examined_at = examined_at - interval '61 s'",
        )
    execute(meta_server, "UPDATE pins SET created_at = created_at - interval '61 s'")
