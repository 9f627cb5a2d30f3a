"""Refusal of segments that lack a column to which their dataset has been bound since."""

from collections.abc import Collection, Sequence

from meta.errors import LayoutChanged
from meta.store.registration.part import Part
from meta.store.segments.segments import NewSegment


class BoundColumns(Part):
    """Columns that segments lack would be null permanently."""

    COLUMNS = ("bound_field_ids",)

    def check(self) -> None:
        """Refuse segments of a layout from before a binding."""
        for call in self._calls:
            if call.is_open and call.dataset is not None:
                bound_field_ids = call.dataset.columns["bound_field_ids"]
                if bound_field_ids:
                    # An object without facts is no segment of ours.
                    own = [new for new in call.merge.segments if new.facts is not None]
                    call.answer = refusal(own, bound_field_ids)


def refusal(
    segments: Sequence[NewSegment], bound_field_ids: Collection[int]
) -> LayoutChanged | None:
    """The refusal of segments of one dataset, whose row the caller has locked."""
    for segment in segments:
        lacking = set(bound_field_ids).difference(segment.promoted_field_ids)
        if lacking:
            return LayoutChanged(
                f"the segment lacks {len(lacking)} columns that its dataset is bound to",
                dataset_id=segment.dataset_id,
                field_id=min(lacking),
            )
    return None
