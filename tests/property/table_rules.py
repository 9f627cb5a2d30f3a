"""Rules of the state machine about tables: gateways publish, a janitor deletes, clients read."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from meta.errors import NotFound, VersionExpired
from meta.store.iceberg import table_expiry
from meta.v1 import operations_pb2 as pb
from tests.property.catalog_rules import PICK, chosen
from tests.property.guards import when
from tests.property.instances import Instances
from tests.property.reader_rules import ReaderRules
from tests.property.table_model import (
    TICK_SECS,
    GatewayDied,
    HandedOut,
    ModelGateway,
    TableStore,
)

GRACE_SECS = TICK_SECS / 2
# Where a gateway is killed; `late`: it comes to the registration after too long.
DEATHS = st.sampled_from(("", "", "", "", "written", "registered", "snapshot", "late"))
_AGED = {
    "table_objects": ("handed_out_at", "examined_at"),
    "table_snapshots": ("handed_out_at", "examined_at"),
    # Their leases go on.
    "pins": ("created_at",),
}


class TableRules(ReaderRules):
    """Two gateways over one store, clients that hold what they were handed, and a janitor."""

    def __init__(self, meta: Instances) -> None:
        super().__init__(meta)
        self.store = TableStore()
        self.gateways = [ModelGateway(meta, self.store) for _ in range(2)]
        self.handed_out: list[HandedOut] = []
        # A grace lies between two ticks.
        self.tick = 0
        # When a pin was taken; those that are not here were at this tick.
        self.ticks_of_pins: dict[str, int] = {}

    @rule(pick=PICK, which=st.integers(0, 1), dies=DEATHS)
    @when(lambda self: self.model.pins)
    def publish(self, pick: int, which: int, dies: str) -> None:
        """A gateway describes a version that it read, perhaps long ago, and hands it out."""
        pin = chosen(self.model.pins, pick)
        is_named = self.model.named(pin.dataset.name) is pin.dataset
        gateway = self.gateways[which]
        is_known = pin.dataset.id in gateway.documents
        try:
            try:
                key, versions = gateway.hand_out(pin.dataset, pin.version, pin.keys, dies)
            except NotFound:
                # The document that it knew is gone: a second attempt writes it again.
                assert is_known or not is_named
                key, versions = gateway.hand_out(pin.dataset, pin.version, pin.keys, dies)
        except GatewayDied:
            assert dies
            self.gateways[which] = ModelGateway(self.meta, self.store)
            return
        except NotFound:
            assert not is_named
            return
        except VersionExpired:
            assert pin.is_expired
            return
        assert is_named
        assert not pin.is_expired
        assert versions[pin.version] == pin.keys
        self.handed_out.append(HandedOut(pin.dataset, key, versions, self.tick))

    @rule(pick=PICK, is_pinned=st.booleans(), is_again=st.booleans())
    @when(lambda self: self.model.pins)
    def read_for_long(self, pick: int, is_pinned: bool, is_again: bool) -> None:
        """A query of an older version, which single steps seldom come to."""
        self.publish(pick, 0, "")
        if is_pinned:
            self.lease(pick, False)
        self._pass_time()
        if is_again:
            self.publish(pick, 0, "")
        else:
            self.save(pick, 1, False, False)
            self.read(pick)
            self.publish(-1, 1, "")
        if self.handed_out:
            self.expire_tables(1_000, False)

    @rule(most=st.sampled_from((1, 3, 1_000)), is_grace_over=st.booleans())
    @when(lambda self: self.handed_out)
    def expire_tables(self, most: int, is_grace_over: bool) -> None:
        """The janitor deletes what nobody was handed for a grace and no pin holds."""
        if is_grace_over:
            self._pass_time()
        self._expire(most)

    def _expire(self, most: int) -> None:
        has_more = True
        while has_more:
            # Graces of segments are over at once here; those of tables are not.
            expired = self.meta.transactions.write(
                lambda tx: table_expiry.expire(tx, grace_secs=GRACE_SECS, most=most)
            )
            for key in expired.object_keys:
                self.store.delete(key)
            has_more = expired.has_more
        self.check_clients()

    def publish_the_latest(self) -> None:
        """Lead every run through publications and deletions."""
        for number in range(min(4, len(self.model.pins))):
            self.read_for_long(number * 7, number % 2 == 0, number % 2 == 1)

    def check_clients(self) -> None:
        """Everything that a client holds is as it was, within the grace and while it is pinned."""
        for handed in self.handed_out:
            held = set(handed.versions) if handed.tick == self.tick else self._pinned(handed)
            if held:
                lists = self.store.lists(handed.document_key)
                for version in held:
                    assert self.store.segments(lists[version]) == handed.versions[version]

    def check_that_tables_go(self) -> None:
        """In the end there is no more than the newest snapshot of each dataset."""
        for dataset in self.model.datasets.values():
            for pin_id in dataset.pinned:
                request = pb.ReleasePinRequest(pin_id=pin_id)
                self.meta.call(lambda c, r=request: c.operations.ReleasePin(r))  # type: ignore[misc]
            dataset.pinned.clear()
        # Also if no client was handed anything: a gateway may have died after it had registered.
        self._pass_time()
        self._expire(1_000)
        left = (self.store.newest.get(dataset.id) for dataset in self.model.live_datasets())
        assert self.store.registered <= frozenset().union(*(keys for _, keys in filter(None, left)))

    def _pass_time(self) -> None:
        for dataset in self.model.datasets.values():
            for pin_id in dataset.pinned:
                self.ticks_of_pins.setdefault(pin_id, self.tick)
        self.tick += 1
        for table, columns in _AGED.items():
            aged = ", ".join(f"{one} = {one} - interval '{TICK_SECS} s'" for one in columns)
            self.meta.execute(f"UPDATE {table} SET {aged}")  # noqa: S608

    def _pinned(self, handed: HandedOut) -> set[int]:
        """Versions of a document that were pinned while its grace lasted, and are still."""
        return {
            version
            for pin_id, version in handed.dataset.pinned.items()
            if version in handed.versions
            and self.ticks_of_pins.get(pin_id, self.tick) <= handed.tick
        }
