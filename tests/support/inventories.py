"""Inventories of a bucket for a rebuild: segments with lineage, babies."""

from collections.abc import Iterable

from segments.inventory.contents import SegmentFound
from segments.inventory.streams import BabyFound
from segments.keys import attempt_prefix, merged_prefix
from segments.offsets import OffsetSpan
from segments.parquet.footer import SegmentFooter, footer_of_days, merged_footer
from segments.parquet.lineage import DAY_MAX, DAY_MIN, BatchPart
from segments.parquet.spec import SegmentSpec
from segments.rebuild.plan import Rebuild, plan
from segments.rebuild.spilled_segments import SpilledSegments

DATASET = "0198a7c0-0000-7000-8000-00000000000d"
STREAMS = ("0198a7c0-0000-7000-8000-0000000000a1", "0198a7c0-0000-7000-8000-0000000000a2")
STREAM = STREAMS[0]


def uuid(number: int) -> str:
    return f"0198a7c0-0000-7000-8000-{number:012x}"


def found(key: str, footer: SegmentFooter) -> SegmentFound:
    return SegmentFound(key, footer, 1, 0, 0, 1, 1, 7_500_000_000, SegmentSpec())


def raw(
    number: int, *ranges: tuple[int, int], part: int = 1, parts: int = 1, batch: str = ""
) -> SegmentFound:
    """Make a nursery's file of STREAM; `number` makes its name and, unless given, its batch's."""
    spans = tuple(OffsetSpan(STREAM, start, end) for start, end in ranges)
    footer = SegmentFooter(
        DATASET, "nursery", (BatchPart(batch or f"b{number}", part, parts),), spans
    )
    return found(f"{merged_prefix(DATASET)}{uuid(number)}.parquet", footer)


def merged(number: int, *inputs: SegmentFound) -> SegmentFound:
    footer = merged_footer(DATASET, "merge", [one.footer for one in inputs])
    return found(f"{attempt_prefix(DATASET, uuid(number), 1)}{uuid(number)}.parquet", footer)


def divided(number: int, day: int, *inputs: SegmentFound) -> tuple[SegmentFound, SegmentFound]:
    """Make both outputs of a merge: what is before a day, and the rest."""
    footer = merged(number, *inputs).footer
    prefix = attempt_prefix(DATASET, uuid(number), 1)
    earlier, later = (
        found(f"{prefix}{uuid(100 * number + n)}.parquet", footer_of_days(footer, *span))
        for n, span in enumerate([(DAY_MIN, day - 1), (day, DAY_MAX)])
    )
    return earlier, later


def baby(
    offset: int, *dataset_ids: str, stream: str = STREAM, unknown: bool = False, stop: bool = False
) -> BabyFound:
    stamps = None if unknown else frozenset(dataset_ids)
    return BabyFound(stream, offset, stamps, 1, 0, 0, 1, b"", stop, 0)


def planned(segments: Iterable[SegmentFound], babies: Iterable[BabyFound] = ()) -> Rebuild:
    """The catalog of these segments and babies."""
    return plan(SpilledSegments(segments), babies)


def live_of(rebuilt: Rebuild) -> set[str]:
    return {one.key for one in rebuilt.segments}


def merged_offset(rebuilt: Rebuild, stream: str = STREAM) -> int:
    (entry,) = next(s for s in rebuilt.streams if s.stream_id == stream).entries
    return entry.merged_offset
