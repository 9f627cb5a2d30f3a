"""segplane trace: the way of records from their commit to the segments that readers see."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from segplane.cli.command import command, group
from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient
from segplane.cli.options import End, Start
from segplane.cli.output import NONE, Answer, plain, table, time_text
from segplane.cli.parameters import Option, Positional

if TYPE_CHECKING:
    from segplane.health.lineage import Trace, TracedStep

app = group()
SAMPLE = "0197c9a2-7f3e-7000-8000-000000000001"
_TARGET_HELP = "Stream id with an offset, a segment id, or with --where a dataset."


@command(app, f"trace {SAMPLE} 17")
def trace(
    client: MetaClient,
    address: str,
    target: Annotated[str, Positional(help=_TARGET_HELP)],
    offset: Annotated[int | None, Positional(min=0)] = None,
    where: str = "",
    start: Start = None,
    end: End = None,
    limit: Annotated[int, Option(min=1, max=1_000)] = 100,
) -> Answer:
    """Show what records have come through: committed, merged, each compaction, up to readers.

    Steps have the version of the catalog from which readers saw them, and merges the worker and the
    attempt that completed them. The catalog keeps them while a segment with the records lives,
    workers and attempts for 30 days.

    Options:
        offset: Offset of a baby segment in the stream.
        where: Condition in KQL, such as trace_id == "4bf92f35": trace the segment of a record that
            meets it.
        limit: Most registrations and segments to print.
    """
    from segplane.health.lineage import trace_baby, trace_segment

    matches = None
    if where:
        if offset is not None:
            raise usage("--where takes a dataset and no offset")
        target, offset, matches = _found(client, address, target, where, start, end)
    elif start is not None or end is not None:
        raise usage("--start and --end go with --where")
    traced = (
        trace_segment(client, target, limit)
        if offset is None
        else trace_baby(client, target, offset, limit)
    )
    notes = [f"stopped after {limit} registrations or segments: --limit prints more"]
    return Answer(_data(traced, matches), _lines(traced, matches), notes * traced.is_cut)


def _found(
    client: MetaClient, address: str, dataset: str, where: str, start: str | None, end: str | None
) -> tuple[str, int | None, int]:
    """Return the segment, or the stream and offset, of a record, and how many records match."""
    from segplane.cli.record_search import RecordSearch
    from segplane.read.bounds import time_bounds

    record = RecordSearch(client, address, dataset, where, time_bounds(start, end)).find()
    if record.segment_id:
        return record.segment_id, None, record.matches
    return record.stream_id, record.offset, record.matches


def _data(traced: "Trace", matches: int | None) -> dict[str, object]:
    data = {
        "subject": traced.subject,
        "version": str(traced.version),
        "is_cut": traced.is_cut,
        "steps": [_step_data(step) for step in traced.steps],
    }
    return data if matches is None else {"matches": matches, **data}


def _step_data(step: "TracedStep") -> dict[str, object]:
    """Return a step with 64-bit numbers as text."""
    fields = plain(step)
    assert isinstance(fields, dict)
    wide = ("at_nanos", "version", "claimed_at_nanos")
    return {name: str(value) if name in wide else value for name, value in fields.items()}


def _lines(traced: "Trace", matches: int | None) -> Iterator[str]:
    from segplane.cli.record_search import COUNTED_MAX

    if matches is not None:
        number = f"{matches} or more" if matches >= COUNTED_MAX else str(matches)
        yield f"{number} record{'s match' if matches > 1 else ' matches'}; one of them is traced"
    yield traced.headline
    yield ""
    names = ("time", "step", "version", "dataset", "segment", "attempt", "worker", "detail")
    yield from table(names, (_row(step) for step in traced.steps))


def _row(step: "TracedStep") -> tuple[object, ...]:
    at = time_text(step.at_nanos)
    columns = (step.version, step.dataset, step.segment, step.attempt, step.worker, step.detail)
    return at, step.step, *(column or NONE for column in columns)
