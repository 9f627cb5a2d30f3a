"""Settles batches against replays of the quarantine, which hold records of their babies too. Pure.

A nursery that died may have written records as rows that the next one quarantined, and a replay
made rows of those. The replay's file names the verdict, and the batch of the dead nursery does not.
So the two are never both live.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from segments.offsets import OffsetSpan, babies_of, coalesce
from segments.parquet.footer import SegmentFooter
from segments.rebuild.batches import Tail

# A baby by stream id and offset.
BabyId: TypeAlias = tuple[str, int]
Footers: TypeAlias = Sequence[SegmentFooter]


def settle_replays(
    proven: Footers, batches: Mapping[str, Footers], tails: Mapping[str, Tail]
) -> dict[str, str]:
    """Return unmerged batches, by id, that readers shall not see, with the reason.

    `proven` are the files that merges prove. A replay followed from a registration, so it is kept,
    unless the batch alone has records of further missing babies. Merged records stay.
    """
    replays = {i: parts for i, parts in batches.items() if not any(file.ranges for file in parts)}
    merged = _verdicts(proven)
    replayed = _verdicts(file for parts in replays.values() for file in parts)
    contradicted: dict[str, set[BabyId]] = {}
    for batch_id, parts in batches.items():
        replay_verdicts = _verdicts(parts)
        spans = coalesce(span for file in parts for span in file.ranges)
        babies = {
            baby
            for registered in (merged, replayed)
            for baby in _within(spans, registered)
            if replay_verdicts.get(baby, frozenset()).isdisjoint(registered[baby])
        }
        if babies:
            contradicted[batch_id] = babies
    others = [file for i, parts in batches.items() if i not in contradicted for file in parts]
    held = coalesce(span for file in (*proven, *others) for span in file.ranges)
    kept = {
        batch_id
        for batch_id, babies in contradicted.items()
        if babies.isdisjoint(merged) and _holds_more(batches[batch_id], babies, held, tails)
    }
    instead = {baby for batch_id in kept for baby in contradicted[batch_id]}
    return dict.fromkeys(contradicted.keys() - kept, "duplicate of a replay") | {
        batch_id: "duplicate: a batch has the replayed records"
        for batch_id, parts in replays.items()
        if not _verdicts(parts).keys().isdisjoint(instead)
    }


def replayed_babies(files: Footers) -> list[OffsetSpan]:
    """Baby segments that were certainly passed: all that a file has of them was replayed.

    Merged again, their records would be rows twice.
    """
    covered = coalesce(span for file in files for span in file.ranges)
    return [
        span
        for file in files
        for span in quarantined(file)
        if not any(
            span.stream_id == run.stream_id and span.start <= run.end and run.start <= span.end
            for run in covered
        )
    ]


def quarantined(file: SegmentFooter) -> Iterator[OffsetSpan]:
    """The babies of which a file says that records were quarantined."""
    return (span for _, spans in file.quarantined for span in spans)


def _verdicts(files: Iterable[SegmentFooter]) -> dict[BabyId, frozenset[str]]:
    """The verdicts of babies with schema violations."""
    verdicts: dict[BabyId, frozenset[str]] = {}
    for file in files:
        for verdict, spans in file.quarantined:
            for baby in babies_of(spans) if verdict else ():
                verdicts[baby] = verdicts.get(baby, frozenset()) | {verdict}
    return verdicts


def _within(
    spans: Sequence[OffsetSpan], babies: Mapping[BabyId, frozenset[str]]
) -> Iterator[BabyId]:
    by_stream: dict[str, list[OffsetSpan]] = {}
    for span in spans:
        by_stream.setdefault(span.stream_id, []).append(span)
    for stream_id, offset in babies:
        if any(span.start <= offset <= span.end for span in by_stream.get(stream_id, ())):
            yield stream_id, offset


def _holds_more(
    batch: Footers,
    babies: Iterable[BabyId],
    held: Sequence[OffsetSpan],
    tails: Mapping[str, Tail],
) -> bool:
    """Whether a batch alone has babies that would not be merged again."""
    passed: dict[str, int] = {}
    for stream_id, offset in babies:
        passed[stream_id] = max(passed.get(stream_id, -1), offset)
    offsets = {*babies}
    for span in (span for file in batch for span in file.ranges):
        first_free = max(tails[span.stream_id].first, passed.get(span.stream_id, -1) + 1)
        for offset in range(span.start, min(span.end, first_free - 1) + 1):
            is_held = any(
                run.stream_id == span.stream_id and run.start <= offset <= run.end for run in held
            )
            if not is_held and (span.stream_id, offset) not in offsets:
                return True
    return False
