"""Checks of an export that is decoded, in the order of a list.

The order is part of the contract with senders:

1. The signal: an export of another one is refused as a whole, by its facts alone.
2. Schema and window of events: the digest of an export that was stored in part names the rejected
   records by their places, so nothing that depends on the time may remove records before.
3. Ages of events, by the times among the facts.
4. Sizes of attributes, which are cut; no record goes, so the facts stay.

A check that removes records replaces the valid part and its facts. Nothing else is decoded again.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from collector.intake.conformity import EnforcedColumns, RecordRules, conforming
from collector.intake.reading import AT_ONCE_BYTES_MAX, ExportReader, ExportView
from collector.otlp.attribute_bounds import AttributeBounds, may_exceed
from collector.otlp.export import CommittedDigests, require_signal
from collector.otlp.partial_success import PartialSuccess
from meta.metrics import OUT_OF_WINDOW_RECORDS

# Raises Refused, or replaces parts of the view.
Check: TypeAlias = Callable[[ExportView], Awaitable[None]]


async def check_signal(view: ExportView) -> None:
    """Refuse an export of another signal."""
    require_signal(view.admission.signal, view.valid.payload, view.facts)


@dataclass(frozen=True, slots=True)
class Conformity:
    """Rejects records that violate the schema, or are outside, if their dataset rejects any."""

    reader: ExportReader
    columns: EnforcedColumns
    digests: CommittedDigests
    is_meta_reachable: Callable[[], bool]

    async def __call__(self, view: ExportView) -> None:
        """Keep the records that fit the schema."""
        admission, valid = view.admission, view.valid
        rejects_since = admission.usage.message.rejects_since
        window = admission.usage.window
        # While no meta answers its days are those of some time ago: it would reject today's events.
        is_known = self.is_meta_reachable() and admission.signal == "logs"
        if window is None or not is_known or window.is_inside(view.facts.times):
            window = None
        # A resend of an export that was stored as a whole is that, whatever the rules are now.
        if not (rejects_since or window) or self.digests.is_whole(view.digest):
            return
        check = None
        if rejects_since:
            check = await self.columns.check_of(admission.dataset_id, rejects_since)

        async def convert(rules: RecordRules, payload: bytes) -> PartialSuccess:
            return await self.reader.convert("conforming", admission, payload, rules)

        signal = admission.signal
        judged = await conforming(check, window, signal, valid, AT_ONCE_BYTES_MAX, convert)
        if judged is valid:
            return
        if judged.schema_violations is not None and judged.schema_violations.num_outside:
            OUT_OF_WINDOW_RECORDS.labels(signal).inc(judged.schema_violations.num_outside)
        view.valid, view.facts = judged, await self.reader.facts(admission, judged.payload)


@dataclass(frozen=True, slots=True)
class EventAges:
    """Rejects records whose event is too old or too far ahead for their dataset."""

    reader: ExportReader

    async def __call__(self, view: ExportView) -> None:
        """Keep the records inside the limits of the dataset."""
        admission, valid, times = view.admission, view.valid, view.facts.times
        window = admission.window(time.time_ns())
        if window is None or times is None:
            return
        if window[0] <= times[0] and times[1] <= window[1]:
            return
        inside = await self.reader.convert("window", admission, valid.payload, window)
        OUT_OF_WINDOW_RECORDS.labels(admission.signal).inc(inside.num_rejected)
        num_rejected = valid.num_rejected + inside.num_rejected
        cause = f"{valid.cause}; {inside.cause}" if valid.num_rejected else inside.cause
        view.facts = await self.reader.facts(admission, inside.payload)
        inside = replace(inside, num_rejected=num_rejected, cause=cause)
        view.valid = replace(inside, schema_violations=valid.schema_violations)


@dataclass(frozen=True, slots=True)
class AttributeSizes:
    """Cuts attributes beyond the collector's bounds."""

    reader: ExportReader
    bounds: AttributeBounds

    async def __call__(self, view: ExportView) -> None:
        """Cut what is beyond the bounds; the facts stay."""
        admission, valid = view.admission, view.valid
        bounds, signal, payload = self.bounds, admission.signal, valid.payload
        if view.facts.part_bytes_max <= bounds.part_bytes_min:
            return
        if len(payload) <= AT_ONCE_BYTES_MAX and not may_exceed(signal, payload, bounds):
            return
        cut = await self.reader.convert("attributes", admission, payload, bounds)
        view.valid = replace(valid, payload=cut.payload, warning=cut.warning, cut=cut.cut)


def in_order(conformity: Conformity, ages: EventAges, sizes: AttributeSizes) -> tuple[Check, ...]:
    """Return the checks of an export in the order that the module describes."""
    return check_signal, conformity, ages, sizes
