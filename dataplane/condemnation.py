"""Condemns objects that no row names, if rows and a footer prove that nothing is lost.

meta does not read the bucket. The footer of a merged segment without a row names its sources, so
this side reads it, and looks whether the objects that hold its records now are there.
"""

from collections.abc import Callable, Iterable, Sequence

from meta.client import MetaClient
from meta.v1.common_pb2 import TimeRange
from meta.v1.operations_pb2 import CondemnObjectsRequest, StreamEnd, UnknownSegment
from segments.errors import CorruptObject, ObjectMissing
from segments.inventory.listing import exists
from segments.keys import AttemptKey, MergedKey, parse_key
from segments.offsets import OffsetSpan
from segments.store.interface import ObjectStore

STREAM_ENDS_MAX = 20_000
# Bounds the memory of a sweep: a footer is read again, and a key looked for again, beyond it.
KEPT_MAX = 100_000


class Condemnation:
    """Asks meta which keys may be deleted; keeps footers that it has read for its second round."""

    def __init__(
        self,
        client: MetaClient,
        store: ObjectStore,
        on_left: Callable[[str], None] = lambda _: None,
    ) -> None:
        # Called with the key of each segment that is left.
        self._on_left = on_left
        self._ask = client.operations.CondemnObjects
        self._store = store
        self._proven: dict[str, UnknownSegment] = {}
        self._present: set[str] = set()

    def judge(self, keys: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return those of at most 1,000 keys that would be condemned, and those not known."""
        reply = self._ask(CondemnObjectsRequest(object_keys=keys, dry_run=True))
        proven = [key for key in reply.unknown_keys if self._prove(key)]
        unknown = [key for key in reply.unknown_keys if key not in proven]
        return [*reply.condemned_keys, *proven], unknown

    def __call__(self, keys: Sequence[str], *, dry_run: bool) -> list[str]:
        """Return those of at most 1,000 keys that are, or would be, condemned."""
        if dry_run:
            return self.judge(keys)[0]
        reply = self._ask(CondemnObjectsRequest(object_keys=keys))
        condemned = list(reply.condemned_keys)
        for key in reply.unknown_keys:
            if segment := self._prove(key):
                condemned += self._ask(CondemnObjectsRequest(segment=segment)).condemned_keys
        return condemned

    def _prove(self, key: str) -> UnknownSegment | None:
        """Read a segment's footer; None unless its records are proven to be in other objects."""
        if not isinstance(parse_key(key), MergedKey | AttemptKey):
            return None
        if key in self._proven:
            return self._proven[key]
        segment = read_unknown(self._store, key)
        if segment is None:
            self._on_left(key)
            return None
        reply = self._ask(CondemnObjectsRequest(segment=segment, dry_run=True))
        if key not in reply.condemned_keys or not self._are_present(reply.holder_keys):
            self._on_left(key)
            return None
        if len(self._proven) < KEPT_MAX:
            self._proven[key] = segment
        return segment

    def _are_present(self, keys: Iterable[str]) -> bool:
        return all(map(self._is_present, keys))

    def _is_present(self, key: str) -> bool:
        if key in self._present:
            return True
        is_present = exists(self._store, key)
        if is_present and len(self._present) < KEPT_MAX:
            self._present.add(key)
        return is_present


def read_unknown(store: ObjectStore, key: str) -> UnknownSegment | None:
    """Read the sources of a segment; None if its footer does not say, or says too much."""
    # pyarrow is not part of a light install.
    from segments.parquet.content import read_content

    try:
        stored = read_content(store, key).stored
        modified_at_nanos = store.head(key).modified_at_nanos
    except (CorruptObject, ObjectMissing):
        return None
    ends = last_offsets(stored.footer.ranges)
    if not 0 < len(ends) <= STREAM_ENDS_MAX:
        return None
    return UnknownSegment(
        object_key=key,
        stream_ends=[StreamEnd(stream_id=s, last_offset=last) for s, last in ends.items()],
        time_range=TimeRange(start_time=stored.start_time, end_time=stored.end_time),
        modified_at_nanos=modified_at_nanos,
    )


def last_offsets(ranges: Iterable[OffsetSpan]) -> dict[str, int]:
    """The last offset of each stream."""
    ends: dict[str, int] = {}
    for span in ranges:
        ends[span.stream_id] = max(span.end, ends.get(span.stream_id, -1))
    return ends
