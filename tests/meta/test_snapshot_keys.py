"""A snapshot of a table is made of the objects that its list of manifests names."""

import pytest

from meta.errors import InvalidArgument, NotFound
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer
from tests.support.meta.tables import TableDriver, digest_of


def test_a_snapshot_is_refused_if_its_list_names_a_manifest_by_another_key(
    meta_server: MetaServer, catalog: CatalogDriver, writer: Writer
) -> None:
    table = TableDriver(meta_server.client, catalog.dataset("web"))
    writer.save_many(table.dataset, 1)
    version = table.get().current_version
    _, *keys = table.put("list", "b", "a")

    def snapshot(keys_digest: bytes) -> pb.TableSnapshot:
        request = pb.PutTableSnapshotRequest(
            dataset_id=table.dataset,
            version=version,
            manifest_list_digest=digest_of("list"),
            manifest_digests=[digest_of("b"), digest_of("a")],
            manifest_keys_digest=keys_digest,
        )
        return table.client.operations.PutTableSnapshot(request).snapshot

    for other in (keys[:1], keys[::-1], [keys[0], f"{keys[1]}x"]):
        with pytest.raises(NotFound, match="registered under other keys"):
            snapshot(digest_of("\n".join(other)))
    with pytest.raises(InvalidArgument, match="31 bytes, not 32"):
        snapshot(b"x" * 31)
    assert snapshot(digest_of("\n".join(keys))).version == version
