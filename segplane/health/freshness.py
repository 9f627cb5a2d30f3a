"""Judgement of datasets by the age of what readers do not see yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from meta.client import MetaClient
from meta.v1 import status_pb2 as pb
from segments.ids import is_canonical_uuid
from segplane.health.processes import SECOND, SILENT_NANOS, span

# Records that were acknowledged so long ago are late.
LATE_NANOS = 300 * SECOND


class Stage(StrEnum):
    """Stage of the oldest baby segment that waits, as programs read it."""

    GATHERING = "gathering"
    WAITING = "waiting"
    PARKED = "parked"
    AWAITS_RECONCILE = "awaits_reconcile"
    NO_NURSERY = "no_nursery"

    @property
    def text(self) -> str:
        """The stage as people read it."""
        return "waiting to be merged" if self is Stage.WAITING else self.replace("_", " ")


_STAGES = {
    pb.MERGE_STAGE_UNSPECIFIED: None,
    pb.MERGE_STAGE_GATHERING: Stage.GATHERING,
    pb.MERGE_STAGE_WAITING: Stage.WAITING,
    pb.MERGE_STAGE_PARKED: Stage.PARKED,
    pb.MERGE_STAGE_AWAITS_RECONCILE: Stage.AWAITS_RECONCILE,
}


_STUCK = (Stage.PARKED, Stage.AWAITS_RECONCILE)


@dataclass(frozen=True, slots=True)
class JudgedDataset:
    """A dataset, and the stage and age of its oldest baby segment that waits; None and 0 = none."""

    dataset: pb.DatasetFreshness
    stage: Stage | None
    age_nanos: int

    @property
    def is_late(self) -> bool:
        """Whether a person is needed: it is late, or nothing but a person lets it pass."""
        return self.age_nanos >= LATE_NANOS or self.stage in _STUCK


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
    def needs(self) -> Sequence[str]:
        """A sentence for each of these datasets."""
        return [
            f"{late.dataset.dataset_name}: records wait for {span(late.age_nanos)}"
            + (f", {late.stage.text}" if late.stage else "")
            for late in self.late
        ]

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


def read_freshness(
    client: MetaClient, dataset: str | None, limit: int, *, include_fresh: bool
) -> Freshness:
    """Read and judge datasets, or the one with a name or id; raises MetaError."""
    request = pb.ListFreshnessRequest(limit=limit, include_fresh=include_fresh)
    if dataset is not None:
        setattr(request, "id" if is_canonical_uuid(dataset) else "name", dataset)
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
