"""Plans of deletion: segments that fall due by dataset and hour, and what the others wait for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row

from meta.store.deletion import deletion_brakes
from meta.store.deletion.deletion_brakes import ForeseenBrake
from meta.store.deletion.deletion_plan_statement import HOURS_MAX, LATER, PLAN, DeletionCause
from meta.store.engine.pool import Transaction
from meta.store.pins import pins

# Causes of tombstones without a successor.
_BRAKED_CAUSES = (DeletionCause.EXPIRED, DeletionCause.VACUUM)


@dataclass(frozen=True, slots=True)
class DeletionScope:
    """The dataset of a plan, None = all; graces and brake of the server; most rows of a list."""

    dataset_key: int | None
    grace_secs: float
    dataset_grace_secs: float
    most: int
    percent_max: int = 100


@dataclass(frozen=True, slots=True)
class PlannedDeletion:
    """Segments of a dataset that fall due within an hour; 0 = due, LATER; bytes are compressed."""

    hour: int
    cause: int
    dataset_id: UUID
    dataset_name: str
    segments: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class WaitingDeletion:
    """Segments of a dataset that something holds when they fall due; `until_nanos` 0 = no end."""

    obstacle: int
    dataset_id: UUID
    dataset_name: str
    segments: int
    size_bytes: int
    holder: str
    version: int
    until_nanos: int


@dataclass(frozen=True, slots=True)
class DeletionAmount:
    """Number of rows of a list, of their segments and of compressed bytes."""

    rows: int = 0
    segments: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class DeletionPlan:
    """The first rows of both lists, the soonest and largest first, and the amounts of all."""

    planned: Sequence[PlannedDeletion]
    waiting: Sequence[WaitingDeletion]
    due: DeletionAmount
    within_week: DeletionAmount
    later: DeletionAmount
    all_waiting: DeletionAmount
    # Of the datasets that `planned` lists as due within an hour.
    foreseen_brakes: Sequence[ForeseenBrake]


def make(tx: Transaction, scope: DeletionScope) -> DeletionPlan:
    """The plan of one dataset or of all, by the holds of this moment."""
    values = {
        "only": scope.dataset_key,
        "grace": scope.grace_secs,
        "dataset_grace": scope.dataset_grace_secs,
        "most": scope.most,
    }
    rows = tx.execute(PLAN, values).all()
    amounts = {
        (row.obstacle, row.hour): DeletionAmount(row.cause, row.segments, row.size_bytes)
        for row in rows
        if row.rank == 0
    }
    listed = [row for row in rows if row.rank > 0]
    planned = [PlannedDeletion(*row[2:8]) for row in listed if not row.obstacle]
    return DeletionPlan(
        planned,
        [_waiting(row) for row in listed if row.obstacle],
        due=amounts.get((0, 0), DeletionAmount()),
        within_week=amounts.get((0, HOURS_MAX), DeletionAmount()),
        later=amounts.get((0, LATER), DeletionAmount()),
        all_waiting=amounts.get((1, 0), DeletionAmount()),
        foreseen_brakes=deletion_brakes.foresee(
            tx,
            {row.dataset_id for row in planned if row.hour <= 1 and row.cause in _BRAKED_CAUSES},
            grace_secs=scope.grace_secs,
            percent_max=scope.percent_max,
        ),
    )


def _waiting(row: Row[*tuple[Any, ...]]) -> WaitingDeletion:
    """A row of what waits; the owner of a pin is shown to those who may list it."""
    holder = row.holder if pins.is_own(row.principal) else ""
    return WaitingDeletion(
        row.obstacle,
        row.id,
        row.name,
        row.segments,
        row.size_bytes,
        holder,
        row.version,
        row.until_nanos,
    )
