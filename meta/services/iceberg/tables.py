"""Datasets as tables of other systems: the metadata that gateways write and hand out."""

from collections.abc import Sequence

from meta.errors import InvalidArgument, NotFound
from meta.services.messages import checks, convert
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.catalog import datasets, former_layouts
from meta.store.deletion import vacuums
from meta.store.engine.pool import Transaction
from meta.store.iceberg import table_expiry, table_metadata
from meta.store.iceberg.table_expiry import Expired
from meta.store.iceberg.table_metadata import (
    SNAPSHOTS_LISTED,
    NewSnapshot,
    SnapshotRow,
    TableObject,
)
from meta.store.lookup import lookup
from meta.store.versions import versions
from meta.v1 import operations_pb2 as pb

DIGEST_BYTES = 32
OBJECTS_MAX = 1_000
MANIFESTS_MAX = 16_384
# Refusals quote a key, and a header of gRPC is small.
KEY_CHARACTERS_MAX = 1_000
EXPIRED_DEFAULT = 1_000
EXPIRED_MAX = 10_000


def get_dataset_table(
    server: ServerParts, request: pb.GetDatasetTableRequest
) -> pb.GetDatasetTableResponse:
    """Read a dataset's columns and the snapshots of its table."""
    name = checks.name(request.dataset_name, "dataset_name")
    requested = checks.optional_count(request, "version")

    def work(tx: Transaction) -> pb.GetDatasetTableResponse:
        snapshot = versions.snapshot(tx)
        through = lookup.readable_version(tx, snapshot, requested, field="version")
        dataset = datasets.find_by_name(tx, name)
        if dataset is None:
            raise NotFound("there is no such dataset", dataset_name=name)
        columns = former_layouts.at(tx, dataset.id, through)
        rows = table_metadata.list_snapshots(tx, dataset.key, through)
        return pb.GetDatasetTableResponse(
            dataset_id=str(dataset.id),
            promoted_columns=convert.promoted_messages(columns),
            current_version=snapshot.version,
            epoch=snapshot.now_secs,
            snapshots=map(_snapshot_message, rows),
        )

    return server.transactions.read(work)


def put_table_objects(
    server: ServerParts, request: pb.PutTableObjectsRequest
) -> pb.PutTableObjectsResponse:
    """Register objects of a table's metadata, or look them up."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    checks.at_most(request.objects, "objects", OBJECTS_MAX)
    objects = [
        TableObject(
            _digest(table_object.digest, f"objects[{index}].digest"),
            checks.text(
                table_object.object_key,
                f"objects[{index}].object_key",
                characters_max=KEY_CHARACTERS_MAX,
            ),
            checks.size(table_object.size_bytes, f"objects[{index}].size_bytes"),
        )
        for index, table_object in enumerate(request.objects)
    ]
    checks.distinct([table_object.digest for table_object in objects], "objects")
    checks.distinct(
        [table_object.object_key for table_object in objects if table_object.object_key], "objects"
    )

    def work(tx: Transaction) -> list[TableObject]:
        dataset = datasets.get(tx, dataset_id)
        return table_metadata.put_objects(tx, dataset.id, dataset.key, objects)

    rows = server.transactions.write(work)
    return pb.PutTableObjectsResponse(objects=[filled(pb.TableObject, row) for row in rows])


def put_table_snapshot(
    server: ServerParts, request: pb.PutTableSnapshotRequest
) -> pb.PutTableSnapshotResponse:
    """Register a dataset at a version as a snapshot of its table."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    checks.at_most(request.manifest_digests, "manifest_digests", MANIFESTS_MAX)
    new = NewSnapshot(
        version=checks.count(request.version, "version"),
        manifest_list=_digest(request.manifest_list_digest, "manifest_list_digest"),
        manifests=tuple(_digests(request.manifest_digests, "manifest_digests")),
        segments=checks.count(request.segments, "segments"),
        number_of_events=checks.count(request.number_of_events, "number_of_events"),
        size_bytes=checks.count(request.size_bytes, "size_bytes"),
        manifest_keys_digest=_keys_digest(request.manifest_keys_digest),
    )
    checks.distinct([new.manifest_list, *new.manifests], "manifest_digests")
    row = server.transactions.write(
        lambda tx: table_metadata.put_snapshot(tx, datasets.get(tx, dataset_id).key, new)
    )
    return pb.PutTableSnapshotResponse(snapshot=_snapshot_message(row))


def hand_out_table(server: ServerParts, request: pb.HandOutTableRequest) -> pb.HandOutTableResponse:
    """Keep snapshots and a document that lists them for a grace from now on."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    name = checks.name(request.dataset_name, "dataset_name")
    checks.at_most(request.versions, "versions", SNAPSHOTS_LISTED)
    versions = sorted(
        {
            checks.count(version, f"versions[{index}]")
            for index, version in enumerate(request.versions)
        }
    )
    if not versions:
        raise InvalidArgument("versions is empty", field="versions")
    document = _digest(request.document_digest, "document_digest")

    def work(tx: Transaction) -> str:
        dataset = datasets.get(tx, dataset_id)
        if dataset.name != name:
            raise NotFound("the dataset has another name", dataset_name=name)
        return table_metadata.hand_out(tx, dataset.key, versions, document)

    return pb.HandOutTableResponse(object_key=server.transactions.write(work))


def expire_table_objects(
    server: ServerParts, request: pb.ExpireTableObjectsRequest
) -> pb.ExpireTableObjectsResponse:
    """Remove rows of table metadata that was not handed out for a grace."""
    most = checks.limit(request.limit, default=EXPIRED_DEFAULT, most=EXPIRED_MAX)
    grace_secs = server.settings.lifetimes.tombstone_grace

    def work(tx: Transaction) -> Expired:
        expired = table_expiry.expire(tx, grace_secs=grace_secs, most=most)
        if expired.object_keys:
            vacuums.credit(tx, "table_objects", {expired.dataset_key: expired.sizes})
        return expired

    expired = server.transactions.write(work)
    if expired.object_keys:
        server.transactions.database.continuity.look()
    return pb.ExpireTableObjectsResponse(object_keys=expired.object_keys, has_more=expired.has_more)


def _digest(value: bytes, field: str) -> bytes:
    if len(value) != DIGEST_BYTES:
        raise InvalidArgument(f"{field} has {len(value)} bytes, not {DIGEST_BYTES}", field=field)
    return value


def _keys_digest(value: bytes) -> bytes:
    return _digest(value, "manifest_keys_digest") if value else b""


def _digests(values: Sequence[bytes], field: str) -> list[bytes]:
    return [_digest(value, f"{field}[{index}]") for index, value in enumerate(values)]


def _snapshot_message(row: SnapshotRow) -> pb.TableSnapshot:
    return filled(pb.TableSnapshot, row)
