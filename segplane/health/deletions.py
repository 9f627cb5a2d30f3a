"""Judgement of plans of deletion: what falls due, what waits, and what needs a person."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from meta.client import MetaClient
from meta.v1 import status_pb2 as pb
from segments.ids import is_canonical_uuid
from segplane.health.processes import SECOND, span
from segplane.terminal.plain_text import size_text

HOUR = 3_600 * SECOND
LATER_HOUR = 169
CAUSES: Mapping[int, str] = {
    pb.DELETION_CAUSE_CREATED_RETENTION: "created retention",
    pb.DELETION_CAUSE_EVENT_RETENTION: "event retention",
    pb.DELETION_CAUSE_RETENTION: "retention",
    pb.DELETION_CAUSE_REPLACED: "merged or rewritten",
    pb.DELETION_CAUSE_EXPIRED: "expired",
    pb.DELETION_CAUSE_DELETED_DATASET: "dataset deleted",
    pb.DELETION_CAUSE_VACUUM: "vacuum",
}


@dataclass(frozen=True, slots=True)
class DeletionForecast:
    """A plan, and all in it that needs a person."""

    plan: pb.PlanDeletionResponse
    needs: Sequence[str]

    @property
    def headline(self) -> str:
        """One line: how much is due, falls due and waits, and whether anything needs a person."""
        plan = self.plan
        amounts = (
            ("due", plan.due),
            ("within 7 days", plan.within_week),
            ("later", plan.later),
            ("waiting", plan.all_waiting),
        )
        parts = [f"{name} {amount_text(amount)}" for name, amount in amounts if amount.segments]
        text = "segments to be deleted: " + (", ".join(parts) or "none")
        if not self.needs:
            return f"ok: {text}"
        number = len(self.needs)
        return f"{number} thing{'s need' if number > 1 else ' needs'} a person; {text}"


def read_forecast(client: MetaClient, dataset: str | None, limit: int) -> DeletionForecast:
    """Read and judge the plan of the dataset with a name or id, or of all; raises MetaError."""
    request = pb.PlanDeletionRequest(limit=limit)
    if dataset is not None:
        is_id = is_canonical_uuid(dataset)
        setattr(request, "dataset_id" if is_id else "dataset_name", dataset)
    plan = client.status.PlanDeletion(request)
    return DeletionForecast(plan, tuple(_needs(plan)))


def amount_text(amount: pb.DeletionAmount) -> str:
    """Write a number of segments with their size."""
    return f"{amount.segments} ({size_text(amount.size_bytes)})"


def when(hour: int) -> str:
    """Write the hour within which something falls due."""
    if hour == 0:
        return "now"
    return "later" if hour == LATER_HOUR else f"within {span(hour * HOUR)}"


def obstacle_text(waiting: pb.WaitingDeletion) -> str:
    """Write what holds segments."""
    if waiting.obstacle == pb.DELETION_OBSTACLE_PIN:
        return f"pin of {waiting.holder or 'another caller'} at version {waiting.version}"
    if waiting.obstacle == pb.DELETION_OBSTACLE_LOCK:
        return f"lock by {waiting.holder}" if waiting.holder else "lock that has ended"
    if waiting.obstacle == pb.DELETION_OBSTACLE_BACKUP:
        return f"backup {waiting.holder} at version {waiting.version}"
    return {
        pb.DELETION_OBSTACLE_BRAKE: "deletion brake",
        pb.DELETION_OBSTACLE_HIDDEN: "hidden by an operator",
        pb.DELETION_OBSTACLE_KEPT_FILES: "files are kept",
        pb.DELETION_OBSTACLE_SUSPENDED: "tenant is suspended",
    }.get(waiting.obstacle, "unknown to this release")


def _needs(plan: pb.PlanDeletionResponse) -> Iterator[str]:
    if plan.deletion_held:
        yield "all deletion is held: `segplane fsck --deep`, then `segplane deletion --release`"
    for waiting in plan.waiting:
        if waiting.obstacle == pb.DELETION_OBSTACLE_BRAKE:
            name = shlex.quote(waiting.dataset_name)
            yield (
                f"the deletion brake holds {waiting.segments} segments"
                f" ({size_text(waiting.size_bytes)}) of {waiting.dataset_name}:"
                f" `segplane deletion --release --dataset {name}` if they may go"
            )
    for brake in plan.foreseen_brakes:
        yield (
            f"the deletion brake will hold {brake.segments} segments"
            f" ({size_text(brake.size_bytes)}) of {brake.dataset_name} that are due:"
            " `segplane deletion` shows it after the janitor's next run"
        )
