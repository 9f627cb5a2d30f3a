"""Pairs of calls about the metadata of tables, through every order of their statements."""

from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from uuid import UUID

import pytest

from meta.errors import NotFound
from meta.store.catalog import datasets
from meta.store.iceberg import table_expiry, table_metadata
from meta.store.iceberg.table_metadata import NewSnapshot, TableObject
from segments.keys import new_table_key
from tests.support.interleaving.in_process_calls import InProcessScene, attempt_of, new_segment
from tests.support.interleaving.interleaver import Interleaver, Work

GRACE_SECS = 60.0
LIST, MANIFEST, DOCUMENT = (sha256(name).digest() for name in (b"list", b"manifest", b"document"))


@dataclass(frozen=True)
class TableScene:
    """Gateways and a janitor at the table of one dataset."""

    scene: InProcessScene
    dataset_id: UUID
    key: int
    name: str
    version: int

    @classmethod
    def made(cls, scene: InProcessScene) -> "TableScene":
        """Make a dataset whose table nobody has asked for yet."""
        dataset_id = scene.dataset()
        version, _ = scene.save(new_segment(dataset_id))
        row = scene.transactions.read(lambda tx: datasets.get(tx, dataset_id))
        return cls(scene, dataset_id, row.key, row.name, version)

    def put(self, *digests: bytes) -> list[str]:
        """Register an object a digest; returns the keys that are registered."""
        ((epoch,),) = self.scene.rows("SELECT extract(epoch FROM now())::bigint")
        objects = [
            TableObject(
                one, new_table_key(str(self.dataset_id), int(str(epoch)), "manifest.avro"), 7
            )
            for one in digests
        ]
        put = partial(
            table_metadata.put_objects,
            dataset_id=self.dataset_id,
            dataset_key=self.key,
            objects=objects,
        )
        return [one.object_key for one in self.scene.transactions.write(put)]

    def snapshot(self) -> str:
        """Register the snapshot of the version; returns the key of its list of manifests."""
        new = NewSnapshot(self.version, LIST, (MANIFEST,), 1, 10, 100)
        row = self.scene.transactions.write(
            lambda tx: table_metadata.put_snapshot(tx, self.key, new)
        )
        return row.object_key

    def hand_out(self) -> str:
        """Hand the version out; returns the key of its document."""
        return self.scene.transactions.write(
            lambda tx: table_metadata.hand_out(tx, self.key, [self.version], DOCUMENT)
        )

    def expire(self) -> tuple[str, ...]:
        """Remove what is due; returns the keys of the objects to delete."""
        expired = self.scene.transactions.write(
            lambda tx: table_expiry.expire(tx, grace_secs=GRACE_SECS, most=1_000)
        )
        return expired.object_keys

    def pass_grace(self) -> None:
        """Let the grace of everything pass, and supersede the version."""
        for table in ("table_objects", "table_snapshots"):
            self.scene.execute(
                f"UPDATE {table} SET handed_out_at = now() - interval '1 h',"  # noqa: S608
                " examined_at = now() - interval '1 h' WHERE dataset_key = :key",
                key=self.key,
            )

    def objects(self) -> dict[bytes, str]:
        """The registered objects."""
        rows = self.scene.rows(
            "SELECT digest, object_key FROM table_objects WHERE dataset_key = :key", key=self.key
        )
        return {bytes(digest): str(key) for digest, key in rows}  # type: ignore[call-overload]


def forget_others(scene: InProcessScene) -> None:
    """Leave nothing due but the table of the schedule."""
    scene.execute("DELETE FROM table_snapshots")
    scene.execute("DELETE FROM table_objects")


@pytest.mark.parametrize("is_pinned", [False, True], ids=["free", "pinned"])
def test_what_is_handed_out_is_not_deleted(
    interleaver: Interleaver, scene: InProcessScene, is_pinned: bool
) -> None:
    """A gateway hands a version out while the janitor removes what nobody was handed for long."""
    tables = list[TableScene]()

    def make() -> tuple[Work, Work]:
        forget_others(scene)
        table = TableScene.made(scene)
        tables.append(table)
        table.put(LIST, MANIFEST, DOCUMENT)
        table.snapshot()
        # A newer version, whose snapshot stays anyway.
        scene.execute(
            "INSERT INTO table_snapshots (dataset_key, version, object_ids, gap_end,"
            " committed_at_ms, segments, number_of_events, size_bytes)"
            " SELECT dataset_key, version + 1, '{}', gap_end, 0, 0, 0, 0 FROM table_snapshots"
        )
        if is_pinned:
            scene.pin(table.name, table.version)
            # Taken while the grace of the document lasted, which it then keeps too.
            scene.execute("UPDATE pins SET created_at = created_at - interval '1 h'")
        table.pass_grace()
        return lambda: attempt_of(table.hand_out), table.expire

    answers = set[bool]()
    for one in interleaver.explore(make):
        is_handed_out = isinstance(one.first, str)
        answers.add(is_handed_out)
        assert isinstance(one.second, tuple), one
        left = tables[-1].objects()
        # What is to be deleted has no row, and the other way round.
        assert not set(left.values()) & set(one.second)
        if is_handed_out:
            assert not one.second
            assert set(left) == {LIST, MANIFEST, DOCUMENT}
        else:
            assert isinstance(one.first, NotFound)

    assert answers == ({True} if is_pinned else {True, False})


def test_a_snapshot_is_made_of_objects_that_stay(
    interleaver: Interleaver, scene: InProcessScene
) -> None:
    """A gateway makes a snapshot of objects that it registered long before the janitor comes."""
    tables = list[TableScene]()

    def make() -> tuple[Work, Work]:
        forget_others(scene)
        table = TableScene.made(scene)
        tables.append(table)
        table.put(LIST, MANIFEST)
        table.pass_grace()
        return lambda: attempt_of(table.snapshot), table.expire

    answers = set[bool]()
    for one in interleaver.explore(make):
        is_made = isinstance(one.first, str)
        answers.add(is_made)
        assert is_made or isinstance(one.first, NotFound)
        assert bool(one.second) == (not is_made)
        assert set(tables[-1].objects()) == ({LIST, MANIFEST} if is_made else set())

    assert answers == {True, False}


@pytest.mark.slow
def test_an_object_that_is_found_is_kept(interleaver: Interleaver, scene: InProcessScene) -> None:
    """A gateway asks for an object's key, or registers it anew, while the janitor removes it."""
    tables, former = list[TableScene](), list[str]()

    def make() -> tuple[Work, Work]:
        forget_others(scene)
        table = TableScene.made(scene)
        tables.append(table)
        former[:] = table.put(MANIFEST)
        table.pass_grace()
        return lambda: table.put(MANIFEST), table.expire

    found = set[bool]()
    for one in interleaver.explore(make):
        assert isinstance(one.first, list), one
        is_found = one.first == former
        found.add(is_found)
        # Deleted is the key of before, or none; it is never used again.
        assert one.second == (() if is_found else tuple(former))
        assert tables[-1].objects() == {MANIFEST: one.first[0]}

    assert found == {True, False}


@pytest.mark.parametrize("call", [pytest.param("objects", marks=pytest.mark.slow), "snapshot"])
def test_two_gateways_that_register_one_content_use_one_object(
    interleaver: Interleaver, scene: InProcessScene, call: str
) -> None:
    def make() -> tuple[Work, Work]:
        forget_others(scene)
        table = TableScene.made(scene)
        if call == "snapshot":
            table.put(LIST, MANIFEST)
            return table.snapshot, table.snapshot
        put = partial(table.put, MANIFEST)
        return put, put

    outcomes = list(interleaver.explore(make))

    assert outcomes
    assert all(one.first == one.second for one in outcomes), outcomes
