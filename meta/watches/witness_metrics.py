"""The gauges of the witness, of meta's registry, and the log events of its terms."""

import structlog

from meta import metrics
from meta.store.versions.witness import Side, Verdict
from meta.store.versions.witness_state import WitnessStatus

log = structlog.get_logger()
NOT_KEPT, KEPT, RESTORED, SUPERSEDED = range(4)


def show(status: WitnessStatus, *, is_kept: bool) -> None:
    """Set the gauges."""
    metrics.DELETION_HELD.set(status.deletion_held)
    if status.superseded_by is not None:
        metrics.WITNESS_STATE.set(SUPERSEDED)
    elif status.is_restored:
        metrics.WITNESS_STATE.set(RESTORED)
    else:
        metrics.WITNESS_STATE.set(KEPT if is_kept and status.history is not None else NOT_KEPT)


def log_term(side: Side, verdict: Verdict, begun: Side) -> None:
    """Log the begin of a term."""
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
