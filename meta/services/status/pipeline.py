"""Summary of the pipeline: the content of its stages, and numbers of streams."""

from uuid import UUID

from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.damage import parked_streams
from meta.store.engine.pool import Transaction
from meta.store.status import pipeline
from meta.store.streams import stream_list
from meta.store.versions import clock
from meta.v1 import status_pb2 as pb

PARKED_MAX = 1_000
_STAGES = {
    pb.PIPELINE_STAGE_COMMITTED: pipeline.committed,
    pb.PIPELINE_STAGE_COMPACTING: pipeline.compacting,
    pb.PIPELINE_STAGE_VISIBLE: pipeline.visible,
    pb.PIPELINE_STAGE_TOMBSTONED: pipeline.tombstoned,
}


def get_pipeline_summary(
    server: ServerParts, _request: pb.GetPipelineSummaryRequest
) -> pb.GetPipelineSummaryResponse:
    """Sum up each stage."""

    def work(tx: Transaction) -> pb.GetPipelineSummaryResponse:
        streams = stream_list.counts(tx)
        return pb.GetPipelineSummaryResponse(
            stages=[
                filled(pb.PipelineStageSummary, read(tx), stage=stage)
                for stage, read in _STAGES.items()
            ],
            active_streams=streams.active,
            stopped_streams=streams.stopped,
            detached_streams=streams.detached,
            parked_streams=len(parked_streams.ids(tx, UUID(int=0), PARKED_MAX)),
            database_time_nanos=clock.now_nanos(tx),
        )

    return server.transactions.read(work)
