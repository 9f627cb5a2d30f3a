"""Rules of the state machine about readers, whose view of the past must never change."""

from dataclasses import dataclass, field
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import rule

from meta.errors import MetaError, NotFound, VersionExpired
from meta.v1 import operations_pb2, segment_lookup_pb2
from tests.property.catalog_rules import PICK, TWICE, chosen
from tests.property.damage_rules import DamageRules
from tests.property.guards import when
from tests.property.instances import Instances
from tests.property.model import Pin
from tests.property.new_segments import full_key


@dataclass
class ReadPages:
    """A reader in the middle of its pages."""

    pin: Pin
    cursor: str
    keys: list[str] = field(default_factory=list)


class ReaderRules(DamageRules):
    """Readers pin versions, read them again, and page through them while all else goes on."""

    def __init__(self, meta: Instances) -> None:
        super().__init__(meta)
        self.readers: list[ReadPages] = []

    @rule(pick=PICK)
    @when(lambda self: self.model.datasets)
    def read(self, pick: int) -> None:
        """Compare the visible segments with the model; they are read again later."""
        dataset = chosen(list(self.model.datasets.values()), pick)
        request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[dataset.name])

        answer = self.meta.answer(lambda c: c.segment_lookup.FindSegments(request))

        live = self.model.named(dataset.name)
        if live is None:
            assert isinstance(answer, NotFound)
            return
        assert not isinstance(answer, MetaError), repr(answer)
        keys = frozenset(map(full_key, answer.segments))
        assert keys == self.model.visible(live.id)
        self.model.pins.append(Pin(live, answer.snapshot_version, keys))

    @rule(pick=PICK)
    @when(lambda self: self.model.pins)
    def read_again(self, pick: int) -> None:
        """I4: the same set at the same version, or VERSION_EXPIRED; never a part of it."""
        self.check_pin(chosen(self.model.pins, pick))

    @rule(pick=PICK, twice=TWICE)
    @when(lambda self: self.model.pins)
    def lease(self, pick: int, twice: bool) -> None:
        """A version that is left can be pinned; then it stays until the pin is released."""
        pin, pin_id = chosen(self.model.pins, pick), str(uuid4())
        request = operations_pb2.PinVersionRequest(
            pin_id=pin_id, owner="reader", dataset_name=pin.dataset.name, version=pin.version
        )

        reply = self.send(
            lambda c: c.operations.PinVersion(request),
            VersionExpired if pin.is_expired else None,
            twice=twice,
            essence=lambda r: r.pin.expires_at_nanos,
        )

        if reply is not None:
            pin.dataset.pinned[pin_id] = pin.version

    @rule(pick=PICK, twice=TWICE)
    @when(lambda self: any(pin.is_leased for pin in self.model.pins))
    def release(self, pick: int, twice: bool) -> None:
        leased = [(d, i) for d in self.model.datasets.values() for i in d.pinned]
        dataset, pin_id = chosen(leased, pick)
        renew = operations_pb2.RenewPinRequest(pin_id=pin_id)
        self.send(lambda c: c.operations.RenewPin(renew), None, twice=twice)
        request = operations_pb2.ReleasePinRequest(pin_id=pin_id)

        self.send(lambda c: c.operations.ReleasePin(request), None, twice=twice)
        self.send(lambda c: c.operations.RenewPin(renew), NotFound, twice=twice)

        del dataset.pinned[pin_id]

    @rule(pick=PICK)
    def begin_pages(self, pick: int) -> None:
        if self.model.pins:
            self.readers.append(ReadPages(chosen(self.model.pins, pick), ""))

    @rule(pick=PICK, limit=st.integers(1, 3))
    @when(lambda self: self.readers)
    def next_page(self, pick: int, limit: int) -> None:
        """I19: the pages of a cursor come to one big read at its version."""
        reader = chosen(self.readers, pick)
        pin = reader.pin
        request = segment_lookup_pb2.FindSegmentsRequest(
            dataset_names=[pin.dataset.name], limit=limit, as_of_version=pin.version
        )
        if reader.cursor:
            request.cursor = reader.cursor

        answer = self.meta.answer(lambda c: c.segment_lookup.FindSegments(request))

        if isinstance(answer, MetaError):
            assert isinstance(answer, VersionExpired)
            assert pin.is_expired
            self.readers.remove(reader)
            return
        assert not pin.is_expired
        reader.keys += map(full_key, answer.segments)
        reader.cursor = answer.page.next_cursor
        if not reader.cursor:
            assert len(reader.keys) == len(pin.keys)
            assert set(reader.keys) == pin.keys
            self.readers.remove(reader)

    def check_pin(self, pin: Pin) -> None:
        """Read a pinned version again."""
        request = segment_lookup_pb2.FindSegmentsRequest(
            dataset_names=[pin.dataset.name], as_of_version=pin.version
        )
        answer = self.meta.answer(lambda c: c.segment_lookup.FindSegments(request))
        if pin.is_expired:
            assert isinstance(answer, VersionExpired)
            return
        assert not isinstance(answer, MetaError), repr(answer)
        assert frozenset(map(full_key, answer.segments)) == pin.keys
