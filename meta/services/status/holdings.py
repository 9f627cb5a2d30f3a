"""A holding: the stage that holds data of a dataset, as its finders make it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from meta.commits.process_reports import KindReports
from meta.services.messages.checks import INT64_MAX
from meta.services.server_parts import ServerParts
from meta.store.catalog.datasets import Dataset
from meta.store.engine.pool import Transaction
from meta.v1 import status_pb2 as pb

# Ids that a holding names, and what it counts at most.
SUBJECTS_MAX, COUNTED_MAX = 10, 1_000
DETAIL_CHARACTERS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Explained:
    """The dataset that is explained, and what its finders read."""

    server: ServerParts
    tx: Transaction
    dataset: Dataset
    live_segments: int
    now_nanos: int
    # By kind of process.
    reports: Mapping[str, KindReports]
    # Datasets with many segments that await a merge, by id.
    debts: Mapping[str, int]

    def reports_now(self, kind: str) -> bool:
        """Whether a process of a kind reports."""
        return bool(self.reports[kind].running(self.now_nanos))


def holding(
    stage: "pb.HoldingStage.ValueType",
    since_nanos: int = 0,
    *,
    until_nanos: int = 0,
    subjects: Iterable[object] = (),
    amount: int = 0,
    limit: int = 0,
    detail: str = "",
) -> pb.Holding:
    """Make a holding within its bounds."""
    return pb.Holding(
        stage=stage,
        since_nanos=since_nanos,
        until_nanos=min(until_nanos, INT64_MAX),
        subjects=list(map(str, subjects))[:SUBJECTS_MAX],
        amount=amount,
        limit=limit,
        detail=detail[:DETAIL_CHARACTERS_MAX],
    )
