"""Streams as pages show them: a ruler of offsets, and the state with its reason."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from meta.client import MetaClient
from meta.v1 import nursery_pb2
from meta.v1 import status_pb2 as pb
from segplane.gateway.http.refusals import QueryRefusal
from segplane.health.processes import SECOND, span

STREAMS_PATH = "/ui/streams"
PAGE_ROWS = 50
PARKED_ROWS = 20
DATASETS_OF_STREAM_MAX = 1_000
# The width of a ruler, in the units of its SVG.
WIDTH = 1_000
# Nurseries end the streams of collectors that commit nothing for a while; this is less.
SILENT_NANOS = 60 * SECOND
STATES: Mapping[str, "pb.StreamState.ValueType"] = {
    "": pb.STREAM_STATE_UNSPECIFIED,
    "active": pb.STREAM_STATE_ACTIVE,
    "stopped": pb.STREAM_STATE_STOPPED,
    "parked": pb.STREAM_STATE_PARKED,
    "awaits reconcile": pb.STREAM_STATE_AWAITS_RECONCILE,
}
_WORDS = {state: word for word, state in STATES.items() if word}


@dataclass(frozen=True, slots=True)
class RulerMark:
    """A place on a ruler and its text."""

    x: int
    text: str


@dataclass(frozen=True)
class ShownStream:
    """One stream at a time of the database."""

    stream: pb.ListedStream
    now_nanos: int

    @property
    def address(self) -> str:
        """Return the address of its page."""
        return f"{STREAMS_PATH}/{self.stream.stream_id}"

    @property
    def state(self) -> str:
        """Return its state in a word; one that a nursery ended is dead."""
        stream = self.stream
        is_dead = stream.stop_reason == nursery_pb2.STOP_REASON_TIMEOUT
        if stream.state == pb.STREAM_STATE_STOPPED and is_dead:
            return "dead"
        return _WORDS.get(stream.state, "unknown")

    @property
    def needs_person(self) -> bool:
        """Whether a person has to act."""
        return self.stream.state in (pb.STREAM_STATE_PARKED, pb.STREAM_STATE_AWAITS_RECONCILE)

    @property
    def reason(self) -> str:
        """Return why it is in its state; "" = there is nothing to say."""
        stream = self.stream
        silent_nanos = self.now_nanos - stream.last_activity_nanos
        match self.state:
            case "parked":
                age = span(self.now_nanos - stream.parked_at_nanos)
                return (
                    f"cannot pass the baby segment at offset {stream.parked_offset:,} for {age}:"
                    f" {stream.parked_reason}"
                )
            case "dead":
                return "its collector sent no commit for the timeout of a nursery, which ended it"
            case "stopped":
                return "its collector has ended it"
            case "awaits reconcile":
                return "it was active when the database went back to an older state"
            case "active" if silent_nanos > SILENT_NANOS:
                return f"silent for {span(silent_nanos)}"
        return ""

    @property
    def command(self) -> str:
        """Return the command that follows; "" = none."""
        if self.state == "awaits reconcile":
            return "segplane catalog reconcile"
        if self.state == "parked":
            return f"segplane streams show {shlex.quote(self.stream.stream_id)}"
        return ""

    @property
    def waiting(self) -> int:
        """Return the number of committed baby segments that some dataset has not merged."""
        return self.stream.committed_offset - self.stream.merged_offset

    @property
    def waiting_age(self) -> str:
        """Return the age of the first of these; "" = none waits."""
        since_nanos = self.stream.oldest_committed_at_nanos
        return span(self.now_nanos - since_nanos) if since_nanos else ""

    @property
    def offsets(self) -> Sequence[tuple[str, int]]:
        """Return its offsets with their names, in the order of the ruler; -1 = none yet."""
        stream = self.stream
        offsets = [
            ("deleted", stream.deleted_offset),
            ("merged", stream.merged_offset),
            ("committed", stream.committed_offset),
        ]
        if stream.HasField("stopped_offset"):
            offsets.append(("stopped", stream.stopped_offset))
        return offsets

    @cached_property
    def marks(self) -> Mapping[str, RulerMark]:
        """Return the places of its offsets."""
        return {
            name: RulerMark(self._x(offset), f"{name} {offset:,}") for name, offset in self.offsets
        }

    @property
    def dataset_marks(self) -> Sequence[RulerMark]:
        """Return the places up to which its datasets have merged."""
        return [
            RulerMark(
                self._x(each.merged_offset), f"{each.dataset_name}: merged {each.merged_offset:,}"
            )
            for each in self.stream.datasets
        ]

    @property
    def parked_x(self) -> int | None:
        """Return the place of the baby segment that it cannot pass."""
        is_parked = self.stream.HasField("parked_offset")
        return self._x(self.stream.parked_offset) if is_parked else None

    def _x(self, offset: int) -> int:
        """Return the place of an offset between what is deleted and the end."""
        low = self.stream.deleted_offset
        high = max(last for _, last in self.offsets)
        if high == low:
            return WIDTH
        return round(WIDTH * min(1.0, max(0.0, (offset - low) / (high - low))))


@dataclass(frozen=True, slots=True)
class StreamsPage:
    """A page of streams, those that are parked before it on the first one."""

    state: str
    parked: Sequence[ShownStream]
    has_more_parked: bool
    streams: Sequence[ShownStream]
    next_address: str
    first_address: str


def read_page(client: MetaClient, state: str, after: str) -> StreamsPage:
    """Read a page of the streams of a state, by a word of STATES."""
    parked = pb.ListStreamsResponse()
    if not state and not after:
        parked = _ask(client, state=STATES["parked"], limit=PARKED_ROWS)
    reply = _ask(client, state=STATES[state], limit=PAGE_ROWS, after=after)
    return StreamsPage(
        state,
        _shown(parked),
        bool(parked.next_cursor),
        _shown(reply),
        _address(state, reply.next_cursor) if reply.next_cursor else "",
        _address(state) if after else "",
    )


def read_stream(client: MetaClient, stream_id: str) -> ShownStream:
    """Read one stream with its datasets. Raises MetaError."""
    (stream,) = _shown(_ask(client, stream_id=stream_id, datasets_limit=DATASETS_OF_STREAM_MAX))
    return stream


def check_state(state: str) -> str:
    """Return a state of an address. Raises QueryRefusal."""
    if state not in STATES:
        words = ", ".join(word for word in STATES if word)
        raise QueryRefusal(f"state is {state[:80]!r}, expected one of: {words}")
    return state


def _ask(client: MetaClient, **fields: object) -> pb.ListStreamsResponse:
    return client.status.ListStreams(pb.ListStreamsRequest(**fields))  # type: ignore[arg-type]


def _shown(reply: pb.ListStreamsResponse) -> list[ShownStream]:
    return [ShownStream(stream, reply.database_time_nanos) for stream in reply.streams]


def _address(state: str, after: str = "") -> str:
    parameters = {"state": state, "after": after}
    query = urlencode({name: value for name, value in parameters.items() if value})
    return f"{STREAMS_PATH}?{query}" if query else STREAMS_PATH
