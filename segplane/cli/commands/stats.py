"""segplane stats: number and size of segments."""

from typing import Annotated

import typer

from meta.v1 import janitor_pb2 as pb
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect
from segplane.cli.output import NONE, AsJson, print_facts, print_json, print_table, size_text


def stats(
    dataset: Annotated[str | None, typer.Option(help="Only this dataset.")] = None,
    tiers: Annotated[bool, typer.Option(help="Count segments by size as well.")] = False,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Count segments, bytes and merge tasks."""
    with connect(address) as client:
        total = client.janitor.GetJanitorStats(pb.GetJanitorStatsRequest(dataset_name=dataset))
        request = pb.GetSegmentSizeStatsRequest(dataset_name=dataset)
        sizes = client.janitor.GetSegmentSizeStats(request).tiers if tiers else ()
    if as_json:
        print_json((total, *sizes) if tiers else total)
        return
    print_facts(segment_facts(total))
    if tiers:
        print()
        headers = ("from", "to", "segments", "total", "average", "earliest", "latest")
        print_table(headers, [_row(tier) for tier in sizes])


def segment_facts(total: pb.GetJanitorStatsResponse) -> tuple[tuple[str, object], ...]:
    """Number and size of segments as names and values."""
    return (
        ("segments", total.segment_count),
        ("with tombstoned", total.segments_incl_tombstoned),
        ("merge tasks", total.outstanding_merge_tasks),
        ("size", size_text(total.total_size_bytes)),
        ("compressed", size_text(total.total_compressed_size_bytes)),
    )


def _row(tier: pb.SegmentSizeTier) -> tuple[object, ...]:
    return (
        size_text(int(tier.tier_min)),
        size_text(int(tier.tier_max)),
        tier.segment_count,
        size_text(tier.total_size),
        size_text(tier.avg_size),
        tier.earliest_time or NONE,
        tier.latest_time or NONE,
    )
