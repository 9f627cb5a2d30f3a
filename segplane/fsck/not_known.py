"""Objects that the database does not know, however young, with the records that they hold.

They are not orphans: no row names them, and no row or footer proves that their records are held
elsewhere. So the database is older than they are, or their writer is about to register them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dataplane.condemnation import Condemnation
from dataplane.stream_poll import read_streams
from meta.client import MetaClient
from meta.v1 import nursery_pb2
from segments.baby import decode_baby
from segments.errors import CorruptObject, ObjectMissing
from segments.inventory.listing import batches
from segments.keys import AttemptKey, BabyKey, MergedKey, parse_key
from segments.offsets import OffsetSpan
from segments.store.interface import ObjectStore
from segplane.fsck.check_cursor import CatalogCursor

KEYS_PER_CALL = 1_000


@dataclass(slots=True)
class UnknownObjects:
    """Unknown objects by their kind; the records of unreadable ones are not counted."""

    stream_babies: int = 0
    streams: int = 0
    stream_records: int = 0
    tail_babies: int = 0
    tail_records: int = 0
    segments: int = 0
    segment_records: int = 0
    # Garbage by rows and footers, of any age.
    garbage_keys: tuple[str, ...] = ()

    @property
    def num_at_stake(self) -> int:
        """Objects whose records may be nowhere else, and that nobody registers by itself."""
        return self.stream_babies + self.segments

    def lines(self) -> Iterator[str]:
        """One line a kind, for people."""
        if self.stream_babies:
            babies = _count(self.stream_babies, "baby", "babies")
            streams = _count(self.streams, "unknown stream")
            yield f"not known: {babies} of {streams}, {_count(self.stream_records, 'record')}"
        if self.tail_babies:
            yield (
                f"not known: {_count(self.tail_babies, 'baby', 'babies')} beyond the committed"
                f" offsets of known streams, {_count(self.tail_records, 'record')}: the collector"
                " or the nursery commits them"
            )
        if self.segments:
            yield (
                f"not known: {_count(self.segments, 'merged segment')},"
                f" {_count(self.segment_records, 'record')}"
            )


def find_not_known(client: MetaClient, store: ObjectStore, keys: Sequence[str]) -> UnknownObjects:
    """Look again at keys that a check did not know, and count their content.

    Keys that a writer has registered since, or that a running merge writes, are skipped. Raises
    MetaError, StoreError.
    """
    summary = UnknownObjects()
    if not keys:
        return summary
    streams = {stream.stream_id: stream for stream in read_streams(client)}
    condemnation = Condemnation(client, store)
    stream_ids: set[str] = set()
    garbage: list[str] = []
    for batch in batches(keys, KEYS_PER_CALL):
        condemned, unknown = condemnation.judge(batch)
        garbage += condemned
        for key in unknown:
            name = parse_key(key)
            if isinstance(name, BabyKey) and name.stream_id in streams:
                summary.tail_babies += 1
                summary.tail_records += _baby_records(store, key)
            elif isinstance(name, BabyKey):
                stream_ids.add(name.stream_id)
                summary.stream_babies += 1
                summary.stream_records += _baby_records(store, key)
            elif isinstance(name, MergedKey | AttemptKey):
                _add_segment(store, key, streams, summary)
    summary.streams = len(stream_ids)
    summary.garbage_keys = tuple(sorted(garbage))
    return summary


def add_orphans(store: ObjectStore, cursor: CatalogCursor, garbage_keys: Sequence[str]) -> None:
    """Add proven garbage to a check's orphans, once it is old enough."""
    until = store.now_nanos() - cursor.orphan_age_secs * 10**9
    for key in garbage_keys:
        try:
            is_old = store.head(key).modified_at_nanos <= until
        except ObjectMissing:
            continue
        if is_old:
            cursor.num_orphans += 1
            cursor.orphans.append(key)


def _add_segment(
    store: ObjectStore,
    key: str,
    streams: dict[str, nursery_pb2.IngestStreamInfo],
    unknown: UnknownObjects,
) -> None:
    """Count a segment, unless all its records are in babies that wait to be merged."""
    # pyarrow is not part of a light install.
    from segments.parquet.content import read_content

    try:
        stored = read_content(store, key).stored
    except ObjectMissing:
        return
    except CorruptObject:
        unknown.segments += 1
        return
    ranges, dataset_id = stored.footer.ranges, stored.footer.dataset_id
    if not ranges or not all(_is_waiting(span, dataset_id, streams) for span in ranges):
        unknown.segments += 1
        unknown.segment_records += stored.rows


def _is_waiting(
    span: OffsetSpan, dataset_id: str, streams: dict[str, nursery_pb2.IngestStreamInfo]
) -> bool:
    """True if a dataset has merged no baby of a span, and all of them are committed."""
    stream = streams.get(span.stream_id)
    if stream is None or span.end > stream.committed_offset:
        return False
    merged = {entry.dataset_id: entry.merged_offset for entry in stream.datasets}
    return merged.get(dataset_id, span.end) < span.start


def _baby_records(store: ObjectStore, key: str) -> int:
    try:
        return decode_baby(store.get(key)).num_records
    except (CorruptObject, ObjectMissing):
        return 0


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
