"""Calls of the janitor's service that several tests make."""

from meta.client import MetaClient
from meta.v1 import janitor_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer

MIB = 1024 * 1024


def sizes(writer: Writer, **filters: object) -> list[janitor_pb2.SegmentSizeTier]:
    request = janitor_pb2.GetSegmentSizeStatsRequest(**filters)  # type: ignore[arg-type]
    return list(writer.client.janitor.GetSegmentSizeStats(request).tiers)


def rewrite(writer: Writer, **fields: str) -> int:
    request = janitor_pb2.RewriteAllSegmentsRequest(**fields)
    return writer.client.janitor.RewriteAllSegments(request).tasks_created


def explain(writer: Writer, **fields: object) -> list[pb.SegmentExplanation]:
    request = pb.ExplainMergePlanRequest(**fields)  # type: ignore[arg-type]
    return list(writer.client.operations.ExplainMergePlan(request).segments)


def age(meta_server: MetaServer, segment_id: str, secs: int) -> None:
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql(
            "UPDATE segments SET created_at = created_at - make_interval(secs => %s) WHERE id = %s",
            (secs, segment_id),
        )


def janitor_stats(client: MetaClient) -> janitor_pb2.GetJanitorStatsResponse:
    """Read the totals of all datasets."""
    return client.janitor.GetJanitorStats(janitor_pb2.GetJanitorStatsRequest())
