"""Refusal of segments that lack a column to which their dataset has been bound since."""

from collections.abc import Collection, Sequence

from meta.errors import LayoutChanged
from meta.store.segments.segments import NewSegment


def refusal(
    segments: Sequence[NewSegment], bound_field_ids: Collection[int]
) -> LayoutChanged | None:
    """The refusal of segments of one dataset, whose row the caller has locked.

    Columns that they lack would be null permanently. An object without facts is no segment of ours.
    """
    if not bound_field_ids:
        return None
    for segment in segments:
        lacking = set(bound_field_ids).difference(segment.promoted_field_ids)
        if lacking and segment.facts is not None:
            return LayoutChanged(
                f"the segment lacks {len(lacking)} columns that its dataset is bound to",
                dataset_id=segment.dataset_id,
                field_id=min(lacking),
            )
    return None


def check(segments: Sequence[NewSegment], bound_field_ids: Collection[int]) -> None:
    """Raise LayoutChanged for segments that lack bound columns of their dataset."""
    refused = refusal(segments, bound_field_ids)
    if refused is not None:
        raise refused
