"""Refusal of segments that lack a column to which their dataset has been bound since."""

from typing import ClassVar

from meta.errors import LayoutChanged
from meta.store.registration.calls import BatchCall
from meta.store.registration.part import Part


class BoundColumns(Part):
    """Columns that segments lack would be null permanently."""

    COLUMNS = ("bound_field_ids",)
    # An object without facts is not a segment of ours, and has the columns of its writer.
    admits_foreign: ClassVar[bool] = True

    def check(self) -> None:
        """Refuse segments of a layout from before a binding."""
        for call in self._calls:
            if call.is_open:
                call.answer = self._refusal(call)

    def _refusal(self, call: BatchCall) -> LayoutChanged | None:
        bound = () if call.dataset is None else call.dataset.columns["bound_field_ids"] or ()
        for segment in call.merge.segments if bound else ():
            lacking = set(bound).difference(segment.promoted_field_ids)
            if lacking and not (self.admits_foreign and segment.facts is None):
                return LayoutChanged(
                    f"the segment lacks {len(lacking)} columns that its dataset is bound to",
                    dataset_id=segment.dataset_id,
                    field_id=min(lacking),
                )
        return None


class BoundColumnsOfOutputs(BoundColumns):
    """The same for outputs of a merge: an input may have the columns, whoever merges it."""

    admits_foreign = False
