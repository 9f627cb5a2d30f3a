"""Publication of a version: objects are written to the store, then registered with meta.

Every object gets a fresh key. An object that another gateway has registered for the same content is
used in its place; the own object is then an orphan, as after a crash between write and
registration.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256

from meta.client import MetaClient
from meta.errors import NotFound
from meta.v1 import operations_pb2 as pb
from segments.inventory.listing import batches
from segments.keys import new_table_key
from segments.store.interface import ObjectStore
from segplane.gateway.http import metrics
from segplane.gateway.iceberg.metadata.contents import Contents
from segplane.gateway.iceberg.metadata.documents import Document
from segplane.gateway.iceberg.metadata.manifests import (
    Manifest,
    StoredManifest,
    encode_list,
    encode_manifest,
    list_digest,
)
from segplane.gateway.iceberg.metadata.schema import TableSchema
from segplane.gateway.iceberg.refusals import TableRefused

MANIFESTS_MAX = 16_384
OBJECTS_PAGE = 1_000
WRITES_IN_FLIGHT = 8


@dataclass(frozen=True, slots=True)
class _Content:
    """An object that may have to be written."""

    digest: bytes
    name: str
    encode: Callable[[], bytes]


@dataclass(slots=True)
class Publisher:
    """Writes and registers the metadata of one dataset's table; for one thread at a time."""

    meta: MetaClient
    store: ObjectStore
    dataset_id: str
    root: str
    # The manifests of the version published last.
    _registered: dict[bytes, pb.TableObject] = field(default_factory=dict)
    # The document that was handed out last.
    _document: bytes = b""

    def publish(self, contents: Contents, schema: TableSchema, epoch: int) -> pb.TableSnapshot:
        """Make a version of the dataset a snapshot. Raises MetaError, StoreError, TableRefused."""
        manifests = contents.groups.manifests(schema)
        if len(manifests) > MANIFESTS_MAX:
            raise TableRefused(
                f"dataset {contents.dataset_name} needs {len(manifests)} manifests, more than"
                f" {MANIFESTS_MAX}"
            )
        try:
            return self._publish(contents, manifests, schema, epoch)
        except NotFound:
            # Some that were registered before are so no more, or under other keys.
            self._registered.clear()
            return self._publish(contents, manifests, schema, epoch)

    def hand_out(self, document: Document, dataset_name: str, epoch: int) -> str:
        """Register a document with its objects at meta; returns its URL. Raises MetaError."""
        request = pb.HandOutTableRequest(
            dataset_id=self.dataset_id,
            dataset_name=dataset_name,
            versions=document.versions,
            document_digest=document.digest,
        )
        if document.digest != self._document:
            name = f"v{document.version}.metadata.json"
            self._put([_Content(document.digest, name, document.json_text.encode)], epoch)
        # Empty until meta has it: after NOT_FOUND it is looked up, and written, again.
        self._document = b""
        key = self.meta.operations.HandOutTable(request).object_key
        self._document = document.digest
        return f"{self.root}/{key}"

    def _publish(
        self, contents: Contents, manifests: Sequence[Manifest], schema: TableSchema, epoch: int
    ) -> pb.TableSnapshot:
        self._put_manifests(manifests, schema, epoch)
        stored = [self._stored(manifest) for manifest in manifests]
        version = contents.version
        digest = list_digest(version, stored)
        listed = _Content(
            digest, f"snapshot-{version}.avro", lambda: encode_list(version, stored, digest)
        )
        self._put([listed], epoch)
        request = pb.PutTableSnapshotRequest(
            dataset_id=self.dataset_id,
            version=version,
            manifest_list_digest=digest,
            manifest_digests=[manifest.digest for manifest in manifests],
            # One that was deleted and written again elsewhere has another key than is listed.
            manifest_keys_digest=self._keys_digest(manifests),
            segments=contents.num_files,
            number_of_events=contents.number_of_events,
            size_bytes=contents.size_bytes,
        )
        return self.meta.operations.PutTableSnapshot(request).snapshot

    def _put_manifests(
        self, manifests: Sequence[Manifest], schema: TableSchema, epoch: int
    ) -> None:
        new = [
            _Content(manifest.digest, "manifest.avro", partial(encode_manifest, manifest, schema))
            for manifest in manifests
            if manifest.digest not in self._registered
        ]
        used = {manifest.digest for manifest in manifests}
        kept = {key: value for key, value in self._registered.items() if key in used}
        self._registered = kept | self._put(new, epoch)

    def _stored(self, manifest: Manifest) -> StoredManifest:
        registered = self._registered[manifest.digest]
        return StoredManifest(
            manifest, f"{self.root}/{registered.object_key}", registered.size_bytes
        )

    def _keys_digest(self, manifests: Sequence[Manifest]) -> bytes:
        keys = [self._registered[manifest.digest].object_key for manifest in manifests]
        return sha256("\n".join(keys).encode()).digest()

    def _put(self, contents: Sequence[_Content], epoch: int) -> dict[bytes, pb.TableObject]:
        """Write and register missing objects; returns all registered ones, by digest."""
        registered: dict[bytes, pb.TableObject] = {}
        with ThreadPoolExecutor(WRITES_IN_FLIGHT) as writers:
            for page in batches(contents, OBJECTS_PAGE):
                looked_up = self._register(
                    [pb.TableObject(digest=content.digest) for content in page]
                )
                registered |= looked_up
                missing = [content for content in page if content.digest not in looked_up]
                written = list(writers.map(lambda content: self._write(content, epoch), missing))
                registered |= self._register(written)
        return registered

    def _write(self, content: _Content, epoch: int) -> pb.TableObject:
        body = content.encode()
        key = new_table_key(self.dataset_id, epoch, content.name)
        self.store.put_if_absent(key, body)
        metrics.WRITTEN_OBJECTS.inc()
        metrics.WRITTEN_BYTES.inc(len(body))
        return pb.TableObject(digest=content.digest, object_key=key, size_bytes=len(body))

    def _register(self, objects: Sequence[pb.TableObject]) -> dict[bytes, pb.TableObject]:
        if not objects:
            return {}
        request = pb.PutTableObjectsRequest(dataset_id=self.dataset_id, objects=objects)
        reply = self.meta.operations.PutTableObjects(request)
        return {item.digest: item for item in reply.objects if item.object_key}
