"""Expected state of meta as plain Python: the model of the state machine.

Everything is keyed by what a caller knows: ids that meta gave, object keys, offsets.
"""

from dataclasses import dataclass, field

from meta.errors import (
    ExcessEvents,
    MetaError,
    NotDrained,
    OffsetConflict,
    OffsetGap,
    OffsetNotCommitted,
    OffsetTaken,
    StopMismatch,
    StreamStopped,
)

Refusal = type[MetaError] | None
# A commit's start of time, size, records and flush id.
Facts = tuple[int, int, int, bytes]


@dataclass
class ModelDataset:
    """A dataset that was created; of its versions below `horizon` only pinned ones are left."""

    id: str
    name: str
    is_live: bool = True
    horizon: int = 0
    # Version by the id of its pin.
    pinned: dict[str, int] = field(default_factory=dict)


@dataclass
class ModelToken:
    """An ingest token; logs and traces go to one dataset each, metrics nowhere ("")."""

    id: str
    plaintext: str
    logs: str
    traces: str
    metrics: str
    is_deleted: bool = False
    # How far each of its streams had committed when it was revoked; None = it is active.
    revoked_at: dict[str, int] | None = None

    @property
    def is_revoked(self) -> bool:
        return self.revoked_at is not None

    @property
    def datasets(self) -> frozenset[str]:
        """Datasets that the token routes to."""
        return frozenset({self.logs, self.traces, self.metrics} - {""})


@dataclass
class ModelBaby:
    """A committed baby. `routing` = each token's datasets at its commit, if it has no stamps."""

    facts: Facts
    stamps: tuple[str, ...]
    routing: dict[str, frozenset[str]]

    def is_for(self, dataset_id: str) -> bool:
        """True if the baby may hold records of the dataset."""
        if self.stamps or not self.facts[2]:
            return dataset_id in self.stamps
        return any(dataset_id in datasets for datasets in self.routing.values())


@dataclass
class ModelEntry:
    """One dataset of a stream: nothing at or below `base` is of it, `merged` is merged."""

    base: int
    merged: int


@dataclass
class Stream:
    """One ingest stream."""

    id: str
    collector: str
    tokens: set[str] = field(default_factory=set)
    babies: list[ModelBaby] = field(default_factory=list)
    entries: dict[str, ModelEntry] = field(default_factory=dict)
    stopped: int | None = None
    deleted: int = -1

    @property
    def committed(self) -> int:
        return len(self.babies) - 1

    @property
    def merged(self) -> int:
        """Up to here every entry has merged."""
        return min((e.merged for e in self.entries.values()), default=self.committed)

    @property
    def is_retired(self) -> bool:
        return self.stopped is not None and not self.entries and self.deleted == self.stopped

    def refuses_commit(self, offset: int, facts: Facts) -> Refusal:
        if offset <= self.committed:
            return None if same_commit(self.babies[offset].facts, facts) else OffsetTaken
        if self.stopped is not None:
            return StreamStopped
        return OffsetGap if offset > self.committed + 1 else None

    def refuses_stop(self, final_offset: int) -> Refusal:
        if self.stopped is not None:
            return None if self.stopped == final_offset else StopMismatch
        is_next = final_offset in (self.committed, self.committed + 1)
        return None if is_next else StopMismatch

    def refuses_reap(self, offset: int) -> Refusal:
        return NotDrained if offset > max(self.merged, self.deleted) else None

    def refuses_merge(self, dataset_id: str, seen: int, merged: int, events: int) -> Refusal:
        entry = self.entries.get(dataset_id)
        if entry is None or entry.merged != seen:
            return OffsetConflict
        if merged > self.committed:
            return OffsetNotCommitted
        babies = self.babies[seen + 1 : merged + 1]
        is_counted = all(not baby.facts[1] or (baby.stamps and baby.facts[2]) for baby in babies)
        records = sum(b.facts[2] for b in babies if not b.stamps or dataset_id in b.stamps)
        return ExcessEvents if is_counted and events > records else None

    def refuses_removal(self, dataset_id: str, merged: int, routed: frozenset[str]) -> Refusal:
        """`routed` = where the stream's active tokens go."""
        entry = self.entries.get(dataset_id)
        if entry is None:
            return None
        is_awaited = any(baby.is_for(dataset_id) for baby in self.babies[entry.merged + 1 :])
        is_over = entry.merged == self.stopped or dataset_id not in routed
        is_drained = merged == entry.merged == self.deleted
        return None if is_drained and is_over and not is_awaited else NotDrained

    def add_entries(self, dataset_ids: frozenset[str], base: int) -> None:
        for dataset_id in dataset_ids - self.entries.keys():
            self.entries[dataset_id] = ModelEntry(base, base)


@dataclass
class Segment:
    """A segment by its object key; `contents` are the (stream, offset) that it holds."""

    id: str
    key: str
    dataset_id: str
    events: int
    contents: frozenset[tuple[str, int]]
    tombstone_version: int | None = None
    is_confirmed: bool = False

    @property
    def is_live(self) -> bool:
        return self.tombstone_version is None


@dataclass
class ModelTask:
    """A merge task that was claimed at least once."""

    id: str
    dataset_id: str
    inputs: tuple[Segment, ...]
    attempt: int
    is_open: bool = True
    is_claimed: bool = False
    failures: int = 0
    output: Segment | None = None


@dataclass
class Move:
    """A registration: offsets (start, end] of an entry, with the version that shows them."""

    stream_id: str
    dataset_id: str
    start: int
    end: int
    version: int
    has_segment: bool


@dataclass
class Pin:
    """A dataset as a reader saw it at a version."""

    dataset: ModelDataset
    version: int
    keys: frozenset[str]

    @property
    def is_expired(self) -> bool:
        return self.version < self.dataset.horizon and not self.is_leased

    @property
    def is_leased(self) -> bool:
        return self.version in self.dataset.pinned.values()


@dataclass
class Model:
    """All of it."""

    datasets: dict[str, ModelDataset] = field(default_factory=dict)
    tokens: dict[str, ModelToken] = field(default_factory=dict)
    streams: dict[str, Stream] = field(default_factory=dict)
    segments: dict[str, Segment] = field(default_factory=dict)
    tasks: dict[str, ModelTask] = field(default_factory=dict)
    condemned: set[str] = field(default_factory=set)
    moves: list[Move] = field(default_factory=list)
    pins: list[Pin] = field(default_factory=list)

    def live_datasets(self) -> list[ModelDataset]:
        return [d for d in self.datasets.values() if d.is_live]

    def named(self, name: str) -> ModelDataset | None:
        return next((d for d in self.live_datasets() if d.name == name), None)

    def is_referenced(self, dataset_id: str) -> bool:
        """True while a token routes to the dataset or a stream has an entry for it."""
        routed = any(dataset_id in t.datasets for t in self.tokens.values() if not t.is_revoked)
        return routed or any(dataset_id in s.entries for s in self.streams.values())

    def active_stream(self, collector: str) -> Stream | None:
        streams = self.streams.values()
        return next((s for s in streams if s.collector == collector and s.stopped is None), None)

    def routed(self, stream: Stream) -> frozenset[str]:
        """Datasets that the active tokens of a stream route to."""
        active = [t for t in map(self.tokens.__getitem__, stream.tokens) if not t.is_revoked]
        return frozenset[str]().union(*(t.datasets for t in active))

    def visible(self, dataset_id: str) -> frozenset[str]:
        """The object keys of a live dataset's live segments."""
        found = self.segments.values()
        return frozenset(s.key for s in found if s.dataset_id == dataset_id and s.is_live)

    def is_held(self, segment: Segment) -> bool:
        """True if a leased version shows the segment."""
        leased = (pin for pin in self.pins if pin.is_leased)
        return any(segment.key in p.keys and segment.dataset_id == p.dataset.id for p in leased)

    def open_inputs(self) -> list[str]:
        return [s.key for t in self.tasks.values() if t.is_open for s in t.inputs]

    def is_undrained(self, token: ModelToken) -> bool:
        """True until every stream that carried a revoked token has merged past the revocation."""
        ends = (token.revoked_at or {}).items()
        return any(e.merged < end for s, end in ends for e in self.streams[s].entries.values())

    def close_tasks_of(self, dataset_id: str) -> None:
        for task in self.tasks.values():
            if task.dataset_id == dataset_id:
                task.is_open = False


def same_commit(known: Facts, other: Facts) -> bool:
    """The facts agree, and the flush ids where both are given."""
    is_same_flush = not known[3] or not other[3] or known[3] == other[3]
    return known[:3] == other[:3] and is_same_flush
