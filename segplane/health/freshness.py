"""Judgement of datasets by the age of what readers do not see yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from meta.client import MetaClient
from meta.v1 import status_pb2 as pb
from segplane.health.processes import SECOND, SILENT_NANOS, span

# Records that were acknowledged so long ago are late.
LATE_NANOS = 300 * SECOND


class Stage(StrEnum):
    """Stage of the oldest baby segment that waits."""

    FRESH = "-"
    GATHERING = "gathering"
    WAITING = "waiting to be merged"
    PARKED = "parked"
    AWAITS_RECONCILE = "awaits reconcile"
    NO_NURSERY = "no nursery"


_STAGES = {
    pb.MERGE_STAGE_UNSPECIFIED: Stage.FRESH,
    pb.MERGE_STAGE_GATHERING: Stage.GATHERING,
    pb.MERGE_STAGE_WAITING: Stage.WAITING,
    pb.MERGE_STAGE_PARKED: Stage.PARKED,
    pb.MERGE_STAGE_AWAITS_RECONCILE: Stage.AWAITS_RECONCILE,
}


@dataclass(frozen=True, slots=True)
class JudgedDataset:
    """A dataset, the age of its oldest baby segment that waits, and the stage of that one."""

    dataset: pb.DatasetFreshness
    stage: Stage
    # 0 = nothing waits.
    age_nanos: int

    @property
    def is_late(self) -> bool:
        """Whether a person is needed."""
        return self.age_nanos >= LATE_NANOS


@dataclass(frozen=True, slots=True)
class Freshness:
    """Datasets by age, the oldest first."""

    datasets: Sequence[JudgedDataset]
    reply: pb.ListFreshnessResponse

    @property
    def late(self) -> Sequence[JudgedDataset]:
        """The datasets that need a person."""
        return [dataset for dataset in self.datasets if dataset.is_late]

    @property
    def headline(self) -> str:
        """One line: whether data is late."""
        waiting = [dataset for dataset in self.datasets if dataset.age_nanos]
        if not waiting:
            return "ok: nothing waits" + (
                " among what was looked at" if self.reply.streams_cut else ""
            )
        numbers = f"the oldest for {span(waiting[0].age_nanos)}"
        if self.reply.live_datasets > 1:
            verb = "waits" if self.reply.waiting_datasets == 1 else "wait"
            number = f"{self.reply.waiting_datasets} of {self.reply.live_datasets}"
            numbers = f"{number} datasets {verb}, {numbers}"
        else:
            numbers = f"records wait, {numbers}"
        if not self.late:
            return f"ok: no data is late; {numbers}"
        # Further datasets may be late beyond the limit of the reply.
        is_all = len(self.late) < len(waiting) or len(waiting) == self.reply.waiting_datasets
        number = f"{'' if is_all else 'at least '}{len(self.late)}"
        noun = "1 dataset is" if number == "1" else f"{number} datasets are"
        return f"{noun} late; {numbers}"


def read_freshness(client: MetaClient, request: pb.ListFreshnessRequest) -> Freshness:
    """Read and judge datasets; raises MetaError."""
    return judged_freshness(client.status.ListFreshness(request))


def judged_freshness(reply: pb.ListFreshnessResponse) -> Freshness:
    """Judge the datasets of a reply at its time."""
    now = reply.database_time_nanos
    has_nursery = now - reply.nursery_seen_nanos < SILENT_NANOS
    judged = []
    for dataset in reply.datasets:
        stage = _STAGES.get(dataset.stage, Stage.WAITING)
        if not has_nursery and stage in (Stage.GATHERING, Stage.WAITING):
            stage = Stage.NO_NURSERY
        committed = dataset.oldest_committed_at_nanos
        # At least one, so that it is not taken for a dataset of which nothing waits.
        age = max(1, now - committed) if committed else 0
        judged.append(JudgedDataset(dataset, stage, age))
    return Freshness(judged, reply)
