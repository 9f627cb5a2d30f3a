"""The gauges of the witness, of meta's registry, and the log events of its terms."""

import structlog
from prometheus_client import Gauge

from meta.metrics import META
from meta.store.versions.witness import Side, Verdict
from meta.store.versions.witness_state import WitnessStatus

log = structlog.get_logger()
NOT_KEPT, KEPT, RESTORED, SUPERSEDED = range(4)

WITNESS_STATE = Gauge(
    "segplane_meta_witness_state",
    "0 = meta keeps no witness of its database, 1 = it does, 2 = the database counts as restored,"
    " and deletion is held, 3 = another database has taken over the bucket. Not 1: look at segplane"
    " deletion status.",
    registry=META,
)
DELETION_HELD = Gauge(
    "segplane_meta_deletion_held",
    "1 while nothing is deleted and no baby segment reaped, after a failover, a restore or by hand."
    " Stays at 1: run segplane fsck, then segplane deletion release.",
    registry=META,
)


def show(status: WitnessStatus, *, is_kept: bool) -> None:
    """Set the gauges."""
    DELETION_HELD.set(status.deletion_held)
    if status.superseded_by is not None:
        WITNESS_STATE.set(SUPERSEDED)
    elif status.is_restored:
        WITNESS_STATE.set(RESTORED)
    else:
        WITNESS_STATE.set(KEPT if is_kept and status.history is not None else NOT_KEPT)


def tell(side: Side, verdict: Verdict, begun: Side) -> None:
    """Say in the log how a term began."""
    if verdict.is_restored:
        log.error(
            "database_restored",
            reason=verdict.reason,
            history=verdict.history,
            version=side.version,
            next_version=begun.version,
        )
        return
    event = "witness_begun" if side.history is None else "term_begun"
    log.info(event, history=verdict.history, version=side.version, next_version=begun.version)
