"""Gateways of the state machine: they publish as the real ones do, over a store in memory.

A manifest lists segments, a list of manifests names its manifests, and a document names such a
list for each version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from meta.errors import InvalidArgument, NotFound
from meta.v1 import operations_pb2 as pb
from segments.keys import new_table_key
from tests.property.instances import Instances
from tests.property.model import ModelDataset

# Longer than a grace, and than a name may take to be registered.
TICK_SECS = 7_200
GROUPS = 2
Versions = Mapping[int, frozenset[str]]


class GatewayDied(Exception):
    """The gateway was killed before it handed anything out."""


@dataclass(frozen=True)
class HandedOut:
    """A document that a client holds since some tick, and the segments of its versions."""

    dataset: ModelDataset
    document_key: str
    versions: Versions
    tick: int


@dataclass
class TableStore:
    """Objects by their keys, none of which is used twice."""

    objects: dict[str, Sequence[str]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    registered: set[str] = field(default_factory=set)
    # Keys of the newest snapshot's list and manifests by dataset, with its version.
    newest: dict[str, tuple[int, frozenset[str]]] = field(default_factory=dict)

    def put(self, key: str, content: Sequence[str]) -> None:
        """Write a new object."""
        assert key not in self.objects
        assert key not in self.deleted
        self.objects[key] = content

    def delete(self, key: str) -> None:
        """Delete an object, which nobody did before."""
        del self.objects[key]
        self.registered.remove(key)
        self.deleted.add(key)

    def segments(self, list_key: str) -> frozenset[str]:
        """The segments that a list comes to. Raises KeyError if an object is gone."""
        keys = [key for manifest in self.objects[list_key] for key in self.objects[manifest]]
        assert len(keys) == len(set(keys))
        return frozenset(keys)

    def lists(self, document_key: str) -> dict[int, str]:
        """The list of each version that a document names."""
        named = (line.split(" ") for line in self.objects[document_key])
        return {int(version): list_key for version, list_key in named}


@dataclass
class ModelGateway:
    """A gateway, killed after the step that `dies` names; then it has forgotten everything."""

    meta: Instances
    store: TableStore
    # Keys by the digests of the manifests that were used last, by dataset.
    known: dict[str, dict[bytes, str]] = field(default_factory=dict)
    # Digest of the document that was handed out last, by dataset.
    documents: dict[str, bytes] = field(default_factory=dict)

    def hand_out(
        self, dataset: ModelDataset, version: int, keys: frozenset[str], dies: str
    ) -> tuple[str, Versions]:
        """Describe a version; returns the key of the document and what it lists.

        Raises MetaError, GatewayDied.
        """
        request = pb.GetDatasetTableRequest(dataset_name=dataset.name, version=version)
        table = self.meta.call(lambda c: c.operations.GetDatasetTable(request))
        if table.dataset_id != dataset.id:
            raise NotFound("another dataset has the name")
        epoch = table.epoch - (TICK_SECS if dies == "late" else 0)
        snapshots = {one.version: one.object_key for one in table.snapshots}
        if version not in snapshots:
            try:
                snapshots[version] = self._publish(dataset, version, keys, epoch, dies)
            except NotFound:
                # Some that it knew are registered no more, or under other keys.
                self.known.pop(dataset.id, None)
                snapshots[version] = self._publish(dataset, version, keys, epoch, dies)
        lines = [f"{one} {snapshots[one]}" for one in sorted(snapshots)]
        document = digest_of(lines)
        # One that it handed out last is not looked up.
        if self.documents.pop(dataset.id, b"") != document:
            self._put(dataset, [lines], epoch, dies)
        handed = pb.HandOutTableRequest(
            dataset_id=dataset.id,
            dataset_name=dataset.name,
            versions=list(snapshots),
            document_digest=document,
        )
        key = self.meta.call(lambda c: c.operations.HandOutTable(handed)).object_key
        self.documents[dataset.id] = document
        lists = self.store.lists(key)
        assert lists == snapshots
        return key, {one: self.store.segments(list_key) for one, list_key in lists.items()}

    def _publish(
        self, dataset: ModelDataset, version: int, keys: frozenset[str], epoch: int, dies: str
    ) -> str:
        """Make a snapshot; returns the key of its list."""
        groups = [
            [key for key in sorted(keys) if hash_of(key) % GROUPS == n] for n in range(GROUPS)
        ]
        known = self.known.setdefault(dataset.id, {})
        new = [group for group in groups if group and digest_of(group) not in known]
        known |= self._put(dataset, new, epoch, dies)
        used = {digest_of(group): known[digest_of(group)] for group in groups if group}
        self.known[dataset.id] = used
        (listed,) = self._put(dataset, [[*used.values()]], epoch, dies)
        request = pb.PutTableSnapshotRequest(
            dataset_id=dataset.id,
            version=version,
            manifest_list_digest=listed,
            manifest_digests=list(used),
            manifest_keys_digest=digest_of([*used.values()]),
        )
        reply = self.meta.call(lambda c: c.operations.PutTableSnapshot(request))
        key = reply.snapshot.object_key
        newest, _ = self.store.newest.get(dataset.id, (0, frozenset()))
        if version >= newest:
            self.store.newest[dataset.id] = version, frozenset((key, *used.values()))
        if dies == "snapshot":
            raise GatewayDied
        return key

    def _put(
        self, dataset: ModelDataset, contents: Sequence[Sequence[str]], epoch: int, dies: str
    ) -> dict[bytes, str]:
        """Write and register what is not registered yet; returns the keys by digest."""
        by_digest = {digest_of(content): content for content in contents}
        keys = self._register(dataset, [pb.TableObject(digest=one) for one in by_digest])
        written = []
        for digest in by_digest.keys() - keys.keys():
            key = new_table_key(dataset.id, epoch, "manifest.avro")
            self.store.put(key, by_digest[digest])
            written.append(pb.TableObject(digest=digest, object_key=key, size_bytes=1))
        if dies == "written":
            raise GatewayDied
        try:
            keys |= self._register(dataset, written)
        except InvalidArgument:
            # It took longer than a name is good for.
            assert dies == "late"
            raise GatewayDied from None
        assert dies != "late" or not written
        for digest, key in keys.items():
            assert self.store.objects[key] == by_digest[digest]
        self.store.registered |= set(keys.values())
        if dies == "registered":
            raise GatewayDied
        return keys

    def _register(
        self, dataset: ModelDataset, objects: Sequence[pb.TableObject]
    ) -> dict[bytes, str]:
        if not objects:
            return {}
        request = pb.PutTableObjectsRequest(dataset_id=dataset.id, objects=objects)
        reply = self.meta.call(lambda c: c.operations.PutTableObjects(request))
        return {one.digest: one.object_key for one in reply.objects if one.object_key}


def digest_of(content: Sequence[str]) -> bytes:
    """The digest of an object's content."""
    return sha256("\n".join(content).encode()).digest()


def hash_of(key: str) -> int:
    """A number of a key, the same in every process."""
    return sha256(key.encode()).digest()[0]
