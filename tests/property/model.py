"""Expected state of meta as plain Python: the model of the state machine.

Everything is keyed by what a caller knows: ids that meta gave, object keys, offsets.
"""

from dataclasses import dataclass, field

from tests.property.model_streams import Stream


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
class Segment:
    """A segment by its object key; `contents` are the (stream, offset) that it holds."""

    id: str
    key: str
    dataset_id: str
    events: int
    contents: frozenset[tuple[str, int]]
    tombstone_version: int | None = None
    is_confirmed: bool = False
    # Its tombstone never ends.
    is_hidden: bool = False
    created_version: int = 0

    @property
    def is_live(self) -> bool:
        return self.tombstone_version is None

    def is_visible(self, version: int) -> bool:
        """True if readers at a version find it."""
        return self.created_version <= version and (
            self.tombstone_version is None or version < self.tombstone_version
        )


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
class Absence:
    """Versions at which the records of a segment are hidden; `until` None = they still are."""

    segment: Segment
    since: int
    until: int | None = None


@dataclass
class ModelReplay:
    """A payload of the quarantine: its dataset, and what became of it."""

    dataset_id: str
    state: str = "begun"


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
    absences: list[Absence] = field(default_factory=list)
    replays: dict[str, ModelReplay] = field(default_factory=dict)
    # Stream, dataset, verdict and offset of quarantined schema violations.
    counted: set[tuple[str, str, str, int]] = field(default_factory=set)

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

    def hidden_at(self, dataset_id: str, version: int) -> frozenset[tuple[str, int]]:
        """Merged contents that a reader of a dataset at a version does not find."""
        absent = [
            a.segment
            for a in self.absences
            if a.segment.dataset_id == dataset_id
            and a.since <= version
            and (a.until is None or version < a.until)
        ]
        # The segments of one registration have the same contents here, and each shows them all.
        shown = [
            segment.contents
            for segment in self.segments.values()
            if segment.dataset_id == dataset_id and segment.is_visible(version)
        ]
        hidden = frozenset[tuple[str, int]]().union(*(segment.contents for segment in absent))
        return hidden.difference(*shown)

    def is_held(self, segment: Segment) -> bool:
        """True if a leased version shows the segment."""
        leased = (pin for pin in self.pins if pin.is_leased)
        return any(segment.key in p.keys and segment.dataset_id == p.dataset.id for p in leased)

    def is_held_offset(self, stream_id: str, dataset_id: str, offset: int) -> bool:
        """True if rows of a dataset, or what counts in the quarantine, are of a baby."""
        entry = stream_id, dataset_id
        return any(
            (move.stream_id, move.dataset_id) == entry
            and move.has_segment
            and move.start < offset <= move.end
            for move in self.moves
        ) or any((s, d, o) == (*entry, offset) for s, d, _, o in self.counted)

    def open_inputs(self) -> list[str]:
        return [s.key for t in self.tasks.values() if t.is_open for s in t.inputs]

    def is_undrained(self, token: ModelToken) -> bool:
        """True until every stream that carried a revoked token has merged past the revocation."""
        ends = (token.revoked_at or {}).items()
        return any(self.streams[s].merged < end for s, end in ends if self.streams[s].entries)

    def close_task_over(self, segment: Segment) -> None:
        for task in self.tasks.values():
            if task.is_open and segment in task.inputs:
                task.is_open = False

    def close_tasks_of(self, dataset_id: str) -> None:
        for task in self.tasks.values():
            if task.dataset_id == dataset_id:
                task.is_open = False
