"""segplane segments: lookup of the merged segments that query engines read."""

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Annotated

from segments.signals import SIGNALS, TRAITS
from segplane.cli.command import command, group
from segplane.cli.commands.repair.segment_repairs import hide, replace
from segplane.cli.connection import refusal, usage
from segplane.cli.messages import MetaClient, common_pb2, operations_pb2
from segplane.cli.messages import segment_lookup_pb2 as pb
from segplane.cli.options import (
    AsOf,
    End,
    Start,
    moment_of,
    time_range,
)
from segplane.cli.output import Answer, listing, size_text, time_text
from segplane.cli.parameters import Option

app = group()
SAMPLE = "0197c9a2-7f3e-7000-8000-000000000001"
PAGE_ROWS = 1_000
TABLE_ROWS = 1_000
DAMAGED_MAX = 10_000
command(app, f"segments hide {SAMPLE} --accept-loss")(hide)
command(app, f"segments replace {SAMPLE} copy.parquet")(replace)
OnlyUrls = Annotated[bool, Option("--urls", help="Print only the objects' URLs.")]


@command(app, "segments find --dataset web --start 1h --urls")
def find(
    client: MetaClient,
    address: str,
    dataset: list[str] | None = None,
    start: Start = None,
    end: End = None,
    signal: Annotated[
        list[str] | None,
        Option(help=f"Skip segments without any of these: {', '.join(SIGNALS)}."),
    ] = None,
    as_of: AsOf = None,
    limit: Annotated[int | None, Option(min=1)] = None,
    urls: OnlyUrls = False,
    unreadable: bool = False,
) -> Answer:
    """Find the segments that hold a stretch of event time.

    Options:
        dataset: Only these datasets.
        limit: Most segments to print; unset: 1000 in a table, otherwise all.
        unreadable: Instead, list the objects that clients registered and that cannot be read as
            records, which readers skip, and why.
    """
    if unreadable:
        return _unreadable(client)
    request = pb.FindSegmentsRequest(
        dataset_names=dataset or (),
        limit=min(limit or PAGE_ROWS, PAGE_ROWS),
        signals=[_signal(name) for name in signal or ()],
        time_range=time_range(start, end),
    )
    moment = moment_of(as_of)
    if isinstance(moment, datetime) and not dataset:
        raise usage("--as-of with a time needs --dataset: a time selects a dataset's version")
    segments = _at_version(client, address, request, moment)
    if limit is not None or urls:
        return _listing(client, segments if limit is None else _cut(segments, limit), urls)
    # A table is aligned in memory, JSON is not.
    return Answer(segments, _listing(client, _cut(segments, TABLE_ROWS), urls).text)


def _at_version(
    client: MetaClient,
    address: str,
    request: "pb.FindSegmentsRequest",
    moment: int | datetime | None,
) -> "Iterator[common_pb2.SegmentInfo]":
    """Find segments page by page, all at one version."""
    from segplane.read.lookup import find_all
    from segplane.read.opening import version_at

    with version_at(request.dataset_names, moment, address) as version:
        if version is not None:
            request.as_of_version = version
        yield from find_all(client, request)


def _cut(
    segments: "Iterator[common_pb2.SegmentInfo]", limit: int
) -> "Iterator[common_pb2.SegmentInfo]":
    """Yield at most `limit` segments, and complain of more."""
    yield from islice(segments, limit)
    if next(segments, None) is not None:
        print(f"stopped after {limit} segments: --limit prints more", file=sys.stderr)


def _unreadable(client: MetaClient) -> Answer:
    from segplane.read.lookup import find_unreadable, object_key

    return listing(
        find_unreadable(client),
        {
            "id": "id",
            "dataset": "dataset_id",
            "object": object_key,
            "events": "number_of_events",
            "version": "created_version",
            "reason": lambda segment: segment.foreign.reason,
        },
    )


@command(app, f"segments show {SAMPLE}")
def show(client: MetaClient, ids: list[str], urls: OnlyUrls = False) -> Answer:
    """Show segments by id; unknown ones are skipped.

    Options:
        ids: Segment ids.
    """
    request = pb.GetSegmentsByIdsRequest(segment_ids=ids)
    return _listing(client, client.segment_lookup.GetSegmentsByIds(request).segments, urls)


@command(app, f"segments release {SAMPLE}")
def release(client: MetaClient, segment_id: str) -> Answer:
    """Let a segment that no merge could read be merged again.

    Options:
        segment_id: Id, as `tasks explain` shows it.
    """
    request = operations_pb2.ReleaseSegmentRequest(segment_id=segment_id)
    reply = client.operations.ReleaseSegment(request)
    if not reply.success:
        raise refusal(f"segment {segment_id} is not excluded from merging")
    return Answer(reply)


def _signal(name: str) -> "common_pb2.Signal.ValueType":
    for row in TRAITS.values():
        if row.name == name:
            return common_pb2.Signal.ValueType(row.kind)
    raise usage(f"--signal is {name!r}, expected one of {', '.join(TRAITS)}")


def _listing(
    client: MetaClient, segments: "Iterable[common_pb2.SegmentInfo]", urls: bool
) -> Answer:
    from segplane.read.files.left_out import readable_urls

    if urls:
        return Answer(segments, readable_urls(segments))

    @cache
    def damage() -> dict[str, str]:
        """Proven damage by segment id."""
        from dataplane.object_checks import list_damaged

        return {row.segment_id: row.damage for row in islice(list_damaged(client), DAMAGED_MAX)}

    return listing(
        segments,
        {
            "id": "id",
            "dataset": "dataset_id",
            "start": lambda segment: time_text(segment.time_range.start_time),
            "end": lambda segment: time_text(segment.time_range.end_time),
            "events": "number_of_events",
            "size": lambda segment: size_text(segment.compressed_size_bytes),
            "merges": "merge_count",
            "version": "created_version",
            "damage": lambda segment: damage().get(segment.id, ""),
        },
    )
