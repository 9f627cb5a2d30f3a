"""Payloads of the quarantine, listed from the bucket with their notes, page by page."""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

from segments.inventory.listing import list_payloads, read_note
from segments.keys import QuarantineKey
from segments.store.interface import ObjectInfo, ObjectStore
from segments.typed.conformity import FORMER_SCHEMA_VIOLATION, SCHEMA_VIOLATION

# Payloads whose notes one page reads at most, whatever the filter takes.
READ_MAX = 10_000
_READS_AT_ONCE = 16
_GROUP = 128
_BATCH_ID = re.compile("([0-9a-f]{2})*")


@dataclass(frozen=True, slots=True)
class Quarantined:
    """One payload, or a whole baby segment, and its note.

    `dataset_id` and `received_at_nanos` are "" and 0 in notes of release 0.1.0. `batch_id` is "" in
    notes of releases before 0.4.0.
    """

    key: str
    stream_id: str
    offset: int
    signal: str
    size_bytes: int
    modified_at_nanos: int
    cause: str
    dataset_id: str
    received_at_nanos: int
    batch_id: str = ""

    @property
    def is_damaged(self) -> bool:
        """Whether its bytes are not those that were sent."""
        return self.cause.startswith("corrupt_")


@dataclass(frozen=True, slots=True)
class QuarantineFilter:
    """Selection of payloads; "" = all. `cause` is its first word."""

    stream_id: str = ""
    dataset_id: str = ""
    cause: str = ""

    def takes(self, item: Quarantined) -> bool:
        """Whether a payload is of the filter's dataset and cause."""
        return self.dataset_id in ("", item.dataset_id) and (
            self.cause in ("", item.cause.partition(":")[0])
        )


@dataclass(frozen=True, slots=True)
class QuarantinePage:
    """Payloads in the order of keys; more may follow behind `next_after`, "" = there are none."""

    items: Sequence[Quarantined]
    next_after: str


def list_page(
    store: ObjectStore,
    chosen: QuarantineFilter,
    after: str,
    limit: int,
    read_max: int = READ_MAX,
    shows: Callable[[Quarantined], bool] = lambda _: True,
) -> QuarantinePage:
    """List up to `limit` payloads behind a key; the page also ends after `read_max` notes.

    Of the payloads that are chosen, those are listed that `shows` takes.
    """
    items: list[Quarantined] = []
    payloads = list_payloads(store, chosen.stream_id, after)
    with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
        while group := list(islice(payloads, _group_size(limit - len(items), read_max))):
            read_max -= len(group)
            for item in pool.map(lambda row: described(store, *row), group):
                if chosen.takes(item) and shows(item):
                    items.append(item)
                if len(items) == limit:
                    return QuarantinePage(items, item.key)
            if read_max == 0:
                return QuarantinePage(items, group[-1][0].key)
    return QuarantinePage(items, "")


def _group_size(rows: int, read_max: int) -> int:
    return min(max(rows, _READS_AT_ONCE), _GROUP, read_max)


def described(store: ObjectStore, info: ObjectInfo, name: QuarantineKey) -> Quarantined:
    """Return a payload with its note."""
    note = read_note(store, info.key)
    received_at, batch_id = note.get("received_at_nanos"), str(note.get("batch_id", ""))
    return Quarantined(
        info.key,
        name.stream_id,
        name.offset,
        name.signal or "",
        info.size_bytes,
        info.modified_at_nanos,
        _cause(note),
        str(note.get("dataset_id", "")),
        received_at if isinstance(received_at, int) else 0,
        batch_id if _BATCH_ID.fullmatch(batch_id) else "",
    )


def _cause(note: dict[str, object]) -> str:
    """Return the cause and its detail, by the word of today for what builds before 0.3.0 wrote."""
    cause, colon, detail = str(note.get("cause", "unknown")).partition(":")
    return f"{SCHEMA_VIOLATION if cause == FORMER_SCHEMA_VIOLATION else cause}{colon}{detail}"
