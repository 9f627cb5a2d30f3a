"""Explanations of a dataset, and processes that report, so that none is missed."""

from typing import Any

from meta.client import MetaClient
from meta.v1 import ingestion_pb2
from meta.v1 import status_pb2 as pb

WORKERS = ("nursery", "merge_worker")


def explain(client: MetaClient, name: str = "web") -> dict[str, pb.Holding]:
    """Holdings of a dataset by the names of their stages."""
    reply = client.status.ExplainDataset(pb.ExplainDatasetRequest(name=name))
    holdings = {stage_of(held): held for held in reply.holdings}
    assert len(holdings) == len(reply.holdings)
    return holdings


def stage_of(held: pb.Holding) -> str:
    """The name of a stage without its prefix."""
    return pb.HoldingStage.Name(held.stage).removeprefix("HOLDING_STAGE_")


def report(client: MetaClient, *kinds: str, **fields: Any) -> None:
    """Report a process of each kind."""
    for kind in kinds:
        values: dict[str, Any] = {"kind": kind, "name": "host-1", "started_at_nanos": 7} | fields
        said = ingestion_pb2.DownloadConfigRequest(report=pb.ProcessReport(**values))
        client.ingestion.DownloadConfig(said)
