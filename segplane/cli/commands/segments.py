"""segplane segments: lookup of the merged segments that query engines read."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from dataplane.object_checks import list_damaged
from meta.client import MetaClient
from meta.v1 import common_pb2, operations_pb2
from meta.v1 import segment_lookup_pb2 as pb
from segments.errors import SegmentsError
from segments.keys import join_key
from segments.signals import TRAITS
from segplane.cli.as_of import TIME_HELP, AsOf, moment_of
from segplane.cli.commands.losses import AcceptLoss, Reason
from segplane.cli.commands.reading import refusals
from segplane.cli.connection import (
    DEFAULT_ADDRESS,
    EXIT_REFUSED,
    MetaAddress,
    complain,
    connect,
    usage,
)
from segplane.cli.output import AsJson, print_json, print_table, size_text, time_text
from segplane.read.files.left_out import readable_urls
from segplane.read.lookup import find_all, find_unreadable
from segplane.read.opening import version_at
from segplane.recovery.losses import acceptance
from segplane.terminal.times import parse_time

app = typer.Typer(
    no_args_is_help=True, help="Find merged segments, as a query engine does; repair damaged ones."
)
PAGE_ROWS = 1_000
TABLE_ROWS = 1_000
DAMAGED_MAX = 10_000
FOREVER_NANOS = 2**63 - 1


@app.command()
def find(
    dataset: Annotated[list[str] | None, typer.Option(help="Only these datasets.")] = None,
    start: Annotated[str | None, typer.Option(help=f"From this event time on. {TIME_HELP}")] = None,
    end: Annotated[str | None, typer.Option(help=f"Up to this event time. {TIME_HELP}")] = None,
    signal: Annotated[
        list[str] | None,
        typer.Option(help=f"Leave out segments without any of these: {', '.join(TRAITS)}."),
    ] = None,
    as_of: AsOf = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Most segments to print; unset: 1000 in a table, otherwise all."),
    ] = None,
    urls: Annotated[bool, typer.Option(help="Print only the objects' URLs.")] = False,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Find the segments that hold a stretch of event time."""
    if limit is None and not (urls or as_json):
        limit = TABLE_ROWS
    request = pb.FindSegmentsRequest(
        dataset_names=dataset or (),
        limit=min(limit or PAGE_ROWS, PAGE_ROWS),
        signals=[_signal(name) for name in signal or ()],
    )
    if (time_range := _time_range(start, end)) is not None:
        request.time_range.CopyFrom(time_range)
    moment = moment_of(as_of)
    if isinstance(moment, datetime) and not dataset:
        raise usage("--as-of with a time needs --dataset: a time selects a dataset's version")
    with (
        refusals(),
        version_at(dataset or (), moment, address) as version,
        connect(address) as client,
    ):
        if version is not None:
            request.as_of_version = version
        segments = find_all(client, request)
        _print(client, islice(segments, limit), urls, as_json)
        if limit is not None and next(segments, None) is not None:
            print(f"stopped after {limit} segments: --limit prints more", file=sys.stderr)


@app.command("list")
def list_(
    unreadable: Annotated[
        bool, typer.Option("--unreadable", help="Those that readers leave out, and why.")
    ] = False,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """List the objects that clients registered and that cannot be read as records."""
    if not unreadable:
        raise usage("add --unreadable; `segplane segments find` finds the segments that are read")
    with connect(address) as client:
        segments = find_unreadable(client)
        if as_json:
            print_json(segments)
            return
        rows = ((*_registration(segment), segment.foreign.reason) for segment in segments)
        print_table(("id", "dataset", "object", "events", "version", "reason"), rows)


def _registration(segment: common_pb2.SegmentInfo) -> tuple[object, ...]:
    at = segment.cloud_object_key
    key = join_key(at.prefix.prefix, at.key)
    events, version = segment.number_of_events, segment.created_version
    return segment.id, segment.dataset_id, key, events, version


@app.command()
def get(
    ids: Annotated[list[str], typer.Argument(help="Segment ids.")],
    urls: Annotated[bool, typer.Option(help="Print only the objects' URLs.")] = False,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Show segments by id; unknown ones are left out."""
    with connect(address) as client:
        reply = client.segment_lookup.GetSegmentsByIds(pb.GetSegmentsByIdsRequest(segment_ids=ids))
        _print(client, reply.segments, urls, as_json)


@app.command()
def release(
    segment_id: Annotated[str, typer.Argument(help="Id, as `tasks explain` shows it.")],
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Let a segment that no merge could read be merged again."""
    with connect(address) as client:
        request = operations_pb2.ReleaseSegmentRequest(segment_id=segment_id)
        reply = client.operations.ReleaseSegment(request)
    if not reply.success:
        complain(f"segment {segment_id} is not excluded from merging")
        raise typer.Exit(EXIT_REFUSED)


@app.command()
def hide(
    segment_id: Annotated[str, typer.Argument(help="Id of a live segment.")],
    accept_loss: AcceptLoss = False,
    reason: Reason = "",
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Take a missing or damaged segment out of every list, so that queries work again.

    Its records are missing from then on and are written to the loss ledger. `segments replace` or
    `segments unhide` bring them back as long as there is a sound file.
    """
    if not accept_loss:
        raise usage("the records of the segment are missing then; add --accept-loss if they may be")
    with connect(address) as client, _refusals():
        from segplane.recovery import segment_repairs

        reply = segment_repairs.hide(client, segment_id, acceptance(reason))
    print(f"hidden from version {reply.version} on: {reply.loss.records} records")


@app.command()
def unhide(
    segment_id: Annotated[str, typer.Argument(help="Id of a hidden segment.")],
    reason: Reason = "",
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Put a hidden segment back, as a copy of its object under a new id and key."""
    with connect(address) as client, _refusals():
        from segplane.recovery import segment_repairs

        reply = segment_repairs.unhide(client, segment_id, acceptance(reason))
    print(f"segment {reply.segment_id} takes its place from version {reply.version} on")


@app.command("replace")
def replace_(
    segment_id: Annotated[str, typer.Argument(help="Id of a live or hidden segment.")],
    file: Annotated[Path, typer.Argument(help="A sound copy of its object.")],
    accept_altered: Annotated[
        bool,
        typer.Option(
            "--accept-altered", help="Accept a file whose checksum is not the registered one."
        ),
    ] = False,
    reason: Reason = "",
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Let a sound copy take the place of a missing or damaged segment.

    The file is read whole and must be of the same dataset, records, times and lineage. A segment
    whose object still has its registered checksum is not replaced. Another file than the registered
    one needs --accept-altered, and its differences are printed. `segments take-back` ends a
    replacement as long as the grace of the original lasts.
    """
    with connect(address) as client, _refusals():
        from segplane.recovery import segment_repairs

        if accept_altered:
            for line in segment_repairs.altered_lines(client, segment_id, file):
                print(f"accepted: {line}")
        reply = segment_repairs.replace(
            client, segment_id, file, acceptance(reason), accepts_altered=accept_altered
        )
    print(f"segment {reply.segment_id} takes its place from version {reply.version} on")


@app.command("take-back")
def take_back(
    segment_id: Annotated[str, typer.Argument(help="Id of the segment that replaced another.")],
    accept_loss: AcceptLoss = False,
    reason: Reason = "",
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """End a replacement as long as the grace of the original lasts: the original is hidden again.

    Its records are missing from then on and are written to the loss ledger. `segments replace` with
    a sound copy brings them back, and so does `segments unhide` if its object is sound.
    """
    if not accept_loss:
        raise usage("the records of the segment are missing then; add --accept-loss if they may be")
    with connect(address) as client, _refusals():
        from segplane.recovery import segment_repairs

        reply = segment_repairs.take_back(client, segment_id, acceptance(reason))
    print(
        f"segment {reply.original.id} is hidden again from version {reply.version} on:"
        f" {reply.loss.records} records"
    )


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn refusals of a repair into one line and an exit code."""
    # pyarrow is not part of the `cli` extra; only repairs need it.
    from segplane.recovery.segment_repairs import AlteredFile, RepairRefused

    try:
        yield
    except (RepairRefused, SegmentsError) as error:
        for line in error.differences if isinstance(error, AlteredFile) else ():
            complain(line)
        complain(str(error))
        raise typer.Exit(EXIT_REFUSED) from None


def _signal(name: str) -> common_pb2.Signal.ValueType:
    for row in TRAITS.values():
        if row.name == name:
            return common_pb2.Signal.ValueType(row.kind)
    raise usage(f"--signal is {name!r}, expected one of {', '.join(TRAITS)}")


def _print(
    client: MetaClient, segments: Iterable[common_pb2.SegmentInfo], urls: bool, as_json: bool
) -> None:
    if as_json:
        print_json(segments)
    elif urls:
        for url in readable_urls(segments):
            print(url)
    else:
        headers = ("id", "dataset", "start", "end", "events", "size", "merges", "version", "damage")
        damage = _damage(client)
        print_table(headers, [(*_row(segment), damage.get(segment.id, "")) for segment in segments])


def _damage(client: MetaClient) -> dict[str, str]:
    """Proven damage by segment id."""
    return {row.segment_id: row.damage for row in islice(list_damaged(client), DAMAGED_MAX)}


def _row(segment: common_pb2.SegmentInfo) -> tuple[object, ...]:
    return (
        segment.id,
        segment.dataset_id,
        time_text(segment.time_range.start_time),
        time_text(segment.time_range.end_time),
        segment.number_of_events,
        size_text(segment.compressed_size_bytes),
        segment.merge_count,
        segment.created_version,
    )


def _time_range(start: str | None, end: str | None) -> common_pb2.TimeRange | None:
    if start is None and end is None:
        return None
    now = datetime.now(UTC)
    try:
        return common_pb2.TimeRange(
            start_time=0 if start is None else parse_time(start, now),
            end_time=FOREVER_NANOS if end is None else parse_time(end, now),
        )
    except ValueError as error:
        raise usage(str(error)) from None
