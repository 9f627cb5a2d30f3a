"""Explanation of a dataset: the stages that hold its data now."""

from meta import access
from meta.services.messages import checks
from meta.services.server_parts import ServerParts
from meta.services.status import deletion_holdings, ingest_holdings, merge_holdings
from meta.services.status.holdings import Explained
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction
from meta.store.segments import stats
from meta.store.versions import clock
from meta.v1 import status_pb2 as pb

KINDS = ("collector", "nursery", merge_holdings.KIND)
# Stages with names of processes and creators, and reasons, which readers are not told elsewhere.
_NAMING = (
    pb.HOLDING_STAGE_QUOTA_REACHED,
    pb.HOLDING_STAGE_PARKED,
    pb.HOLDING_STAGE_WITHHELD,
    pb.HOLDING_STAGE_WORKERS_LIMITED,
)
_FINDERS = (ingest_holdings.find, merge_holdings.find, deletion_holdings.find)


def explain_dataset(
    server: ServerParts, request: pb.ExplainDatasetRequest
) -> pb.ExplainDatasetResponse:
    """List the stages that hold data of a dataset."""
    identifier = checks.identifier(request)
    debts = server.debts.segments()

    def work(tx: Transaction) -> pb.ExplainDatasetResponse:
        dataset = datasets.get(tx, identifier)
        explained = Explained(
            server,
            tx,
            dataset,
            stats.read(tx, dataset.key).live_segments,
            clock.now_nanos(tx),
            {kind: server.reports.of_kind(tx, kind) for kind in KINDS},
            debts,
        )
        holdings = [_shown(held) for find in _FINDERS for held in find(explained)]
        return pb.ExplainDatasetResponse(
            dataset_id=str(dataset.id),
            dataset_name=dataset.name,
            holdings=sorted(holdings, key=lambda held: held.stage),
            database_time_nanos=explained.now_nanos,
        )

    return server.transactions.read(work)


def _shown(held: pb.Holding) -> pb.Holding:
    """Return a holding as its caller may see it."""
    if held.stage not in _NAMING or access.current.get().is_told_processes:
        return held
    # The quota of a creator is withheld as well.
    amount = 0 if held.stage == pb.HOLDING_STAGE_QUOTA_REACHED else held.amount
    return pb.Holding(stage=held.stage, since_nanos=held.since_nanos, amount=amount)
