"""segplane stats: number and size of segments."""

from typing import Annotated

from segplane.cli.command import command, group
from segplane.cli.messages import MetaClient
from segplane.cli.messages import janitor_pb2 as pb
from segplane.cli.options import OnlyDataset
from segplane.cli.output import NONE, Answer, Fact, facts, size_text, table
from segplane.cli.parameters import Option

app = group()


@command(app, "stats --dataset web --tiers")
def stats(
    client: MetaClient,
    dataset: OnlyDataset = None,
    tiers: Annotated[bool, Option()] = False,
) -> Answer:
    """Count segments, bytes and merge tasks.

    Options:
        tiers: Count segments by size as well.
    """
    total = client.janitor.GetJanitorStats(pb.GetJanitorStatsRequest(dataset_name=dataset))
    if not tiers:
        return Answer(total, facts(segment_facts(total)))
    request = pb.GetSegmentSizeStatsRequest(dataset_name=dataset)
    sizes = client.janitor.GetSegmentSizeStats(request).tiers
    headers = ("from", "to", "segments", "total", "average", "earliest", "latest")
    rows = table(headers, map(_row, sizes))
    return Answer((total, *sizes), (*facts(segment_facts(total)), "", *rows))


def segment_facts(total: "pb.GetJanitorStatsResponse") -> tuple[Fact, ...]:
    """Number and size of segments as names and values."""
    return (
        ("segments", total.segment_count),
        ("with tombstoned", total.segments_incl_tombstoned),
        ("merge tasks", total.outstanding_merge_tasks),
        ("size", size_text(total.total_size_bytes)),
        ("compressed", size_text(total.total_compressed_size_bytes)),
    )


def _row(tier: "pb.SegmentSizeTier") -> tuple[object, ...]:
    return (
        size_text(int(tier.tier_min)),
        size_text(int(tier.tier_max)),
        tier.segment_count,
        size_text(tier.total_size),
        size_text(tier.avg_size),
        tier.earliest_time or NONE,
        tier.latest_time or NONE,
    )
