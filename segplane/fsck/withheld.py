"""Acknowledged records that readers do not see, counted by the reason, for every form of fsck.

None of them is a violation: I1 and I2 hold less the quarantine and the loss ledger. But a reader
misses them, so a check that says "0 violations" has to name them too.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, repeat

from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from meta.v1.common_pb2 import SegmentInfo
from segments.inventory.listing import batches, list_payloads, read_note
from segments.store.interface import ObjectStore
from segplane.read.lookup import object_key

# Notes are read for the number of records; payloads beyond are counted without it.
NOTES_MAX = 10_000
# The promise that each reason puts in question, and the command that lists its objects.
_LOOK_AT = {
    "quarantined": ("I1", "segplane quarantine list"),
    # Left by a nursery that died or was overtaken: their records went another way.
    "uncounted": ("I2", "segplane quarantine list"),
    "parked": ("I12", "segplane streams list"),
    "hidden": ("I2", "segplane losses"),
    "lost": ("I1", "segplane losses"),
    "unreadable": ("I2", "segplane segments find --unreadable"),
}
# Objects of a reason that are named.
NAMED_MAX = 20
_READS_AT_ONCE = 16
_GROUP = 128
_NO_NOTE: dict[str, object] = {}


@dataclass(slots=True)
class Withheld:
    """Objects that one reason keeps from readers, and the promise that is in question.

    `records` counts those of objects that say how many they hold; `uncounted` are the others.
    """

    reason: str
    invariant: str
    look_at: str
    objects: int = 0
    records: int = 0
    uncounted: int = 0
    # The first objects, if nothing else that is printed names them.
    names: list[str] = field(default_factory=list)

    def add(self, records: int | None, name: str = "") -> None:
        """Count an object, and keep its name if there is one and there are few."""
        if name and len(self.names) < NAMED_MAX:
            self.names.append(name)
        self.objects += 1
        self.records += records or 0
        self.uncounted += records is None

    def lines(self) -> list[str]:
        """One line for a person, and one for each object that is named."""
        return [self._line(), *(f"{self.reason}: {name}" for name in self.names)]

    def _line(self) -> str:
        records = f"{self.records} records"
        if self.uncounted:
            records = f"{self.records} records and those of {self.uncounted} that do not say"
        return (
            f"{self.reason}: {self.objects} objects, {records}: {self.invariant} is in question,"
            f" see `{self.look_at}`"
        )


def find_withheld(
    client: MetaClient,
    store: ObjectStore,
    parked: Iterable[pb.ParkedStream],
    losses: Iterable[pb.Loss],
    unreadable: Iterable[SegmentInfo],
) -> list[Withheld]:
    """Count records that are quarantined, parked, hidden, lost or unreadable; skip zeros.

    `losses` is the whole ledger. Raises StoreError, MetaError.
    """
    counts = {reason: Withheld(reason, *look_at) for reason, look_at in _LOOK_AT.items()}
    for is_counted, records in _quarantined(client, store):
        counts["quarantined" if is_counted else "uncounted"].add(records)
    for _ in parked:
        counts["parked"].add(None)
    for loss in losses:
        if not loss.HasField("withdrawn_version"):
            reason = "hidden" if loss.kind == pb.LOSS_KIND_SEGMENT else "lost"
            counts[reason].add(loss.records if loss.HasField("records") else None)
    for segment in unreadable:
        # The number is the client's own claim; nobody has counted.
        counts["unreadable"].add(None, _named(segment))
    return [count for count in counts.values() if count.objects]


def summary(withheld: Iterable[Withheld]) -> str:
    """The end of a check's last line; "" if readers see everything."""
    parts = ", ".join(f"{kind.objects} {kind.reason}" for kind in withheld)
    return f"; withheld from readers: {parts}" if parts else ""


def _named(segment: SegmentInfo) -> str:
    return (
        f"segment {segment.id}, {object_key(segment)}, registered at version"
        f" {segment.created_version}: {segment.foreign.reason}"
    )


def _quarantined(client: MetaClient, store: ObjectStore) -> Iterator[tuple[bool, int | None]]:
    """Whether each payload counts, and its number of records; None if its note does not say."""
    notes_left = NOTES_MAX
    with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
        for group in batches(list_payloads(store), _GROUP):
            judged = [info.key for info, name in group if name.verdict is not None]
            request = pb.CheckQuarantinedRequest(object_keys=judged)
            reply = client.operations.CheckQuarantined(request) if judged else None
            uncounted = frozenset(reply.uncounted if reply else ())
            notes = pool.map(lambda item: read_note(store, item[0].key), group[:notes_left])
            for (info, _), note in zip(group, chain(notes, repeat(_NO_NOTE)), strict=False):
                records = note.get("records")
                yield info.key not in uncounted, records if isinstance(records, int) else None
            notes_left = max(0, notes_left - len(group))
