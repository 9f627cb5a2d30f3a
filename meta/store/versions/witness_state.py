"""The database's side of the witness: its state to compare with the bucket, and the results.

The order of each change makes a crash between any two of them harmless:

- a ceiling is written to the witness first, and only then to the database, where draws obey it;
- a tick is committed first, and only then copied to the witness;
- a term is written to the database as the next one, then to the witness, then made the current one.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import timelines
from meta.store.engine.pool import Transaction, run_in
from meta.store.engine.timelines import HAS_ROOM, INCARNATION, IS_HELD
from meta.store.versions.witness import Mark, Side, Verdict


@dataclass(frozen=True, slots=True)
class WitnessStatus:
    """The database's history, whether it counts as restored, and whether anything is deleted."""

    history: int | None
    restored_at_nanos: int
    restored_reason: str
    superseded_by: int | None
    deletion_held: bool
    # This incarnation of the database was compared with the witness, if it has one.
    is_compared: bool

    @property
    def is_restored(self) -> bool:
        """True until an operator has released the hold that the restore brought."""
        return self.deletion_held and self.restored_at_nanos > 0


# True from a restore until it is reconciled with the bucket.
IS_UNRECONCILED = (
    "EXISTS (SELECT FROM witness_state WHERE restored_at IS DISTINCT FROM reconciled_at)"
)
# True if that is awaited: segments that were merged since could not be distinguished from lost
# ones.
IS_AWAITED = f"({IS_UNRECONCILED} AND (SELECT deletion_held FROM meta_state))"  # noqa: S608
_COLUMNS = f"""
    m.version, coalesce(m.ceiling, 0), ({HAS_ROOM} AND m.ceiling IS NOT NULL) IS TRUE,
    w.history, w.number, w.tick, w.term, w.next_term, w.superseded_by
"""
_READ = text(f"SELECT {_COLUMNS} FROM meta_state m CROSS JOIN witness_state w")  # noqa: S608
_LOCK = text(f"""
    SELECT {_COLUMNS} FROM meta_state m CROSS JOIN witness_state w FOR UPDATE OF m, w
""")  # noqa: S608
_INTEND = text("""
    UPDATE witness_state SET next_term = :next_term
    WHERE term IS NOT DISTINCT FROM :term AND next_term IS NULL
""")
# A plain start may have lost versions that were handed out a moment before: these expire as well.
# The newest gap of meta_state says more, that objects may be deleted, so it is left as it is.
_EXPIRE = text("""
    INSERT INTO version_gaps (gap_start, gap_end) VALUES (:start, :end) ON CONFLICT DO NOTHING
""")
_KEEP_GAP = text(timelines.KEEP_GAP)
_OPEN_GAP = text("UPDATE meta_state SET gap_start = :start, gap_end = :end")
_HOLD = text("UPDATE meta_state SET deletion_held = true")
_BEGIN = text(f"""
    UPDATE meta_state SET version = :version, ceiling = :ceiling, incarnation = {INCARNATION}
""")  # noqa: S608
_BEGIN_TERM = text("""
    UPDATE witness_state SET history = :history, number = :number, tick = :tick, term = :term,
      next_term = NULL, superseded_by = NULL
""")
_NOTE_RESTORED = text("UPDATE witness_state SET restored_at = now(), restored_reason = :reason")
_RAISE = text(f"""
    UPDATE meta_state SET ceiling = :ceiling
    WHERE ceiling < :ceiling AND incarnation = {INCARNATION}
      AND (SELECT term FROM witness_state) = :term
""")  # noqa: S608
_TICK = text("""
    UPDATE witness_state SET tick = tick + 1, tick_at = clock_timestamp(),
      number = CASE WHEN history = :history THEN greatest(number, :number) ELSE number END
    WHERE term IS NOT NULL AND superseded_by IS NULL
      AND (:secs = 0 OR tick_at < clock_timestamp() - make_interval(secs => :secs)
           OR tick_at > clock_timestamp())
    RETURNING tick
""")
_SUPERSEDE = text("UPDATE witness_state SET superseded_by = :history WHERE superseded_by IS NULL")
_STATUS = text(f"""
    SELECT w.history, coalesce((extract(epoch FROM w.restored_at) * 1000000000)::bigint, 0),
           w.restored_reason, w.superseded_by, {IS_HELD},
           m.ceiling IS NULL OR m.incarnation IS NOT DISTINCT FROM {INCARNATION}
    FROM meta_state m CROSS JOIN witness_state w
""")  # noqa: S608
# Without a term no mark in the bucket is its own, so it begins a history.
_CLEAR_SUPERSEDED = text("""
    UPDATE witness_state SET superseded_by = NULL, term = NULL, next_term = NULL
    WHERE superseded_by IS NOT NULL
""")
_NOTE_RECONCILED = text("""
    UPDATE witness_state SET reconciled_at = restored_at
    WHERE (extract(epoch FROM restored_at) * 1000000000)::bigint = :restored_at
""")
_STOP = text("UPDATE meta_state SET incarnation = NULL, deletion_held = true")


def read(tx: Transaction) -> Side:
    """Read the state that is compared with the witness."""
    return Side(*tx.execute(_READ).one())


def check_timeline(tx: Transaction) -> None:
    """Adopt the server's timeline, as every draw does, before the comparison."""
    timelines.check(run_in(tx))


def intend(tx: Transaction, side: Side, next_term: UUID) -> bool:
    """Name the term that is about to begin; False if another process was faster."""
    values = {"term": side.term, "next_term": next_term}
    return side.next_term == next_term or tx.execute(_INTEND, values).rowcount > 0


def begin_term(tx: Transaction, side: Side, verdict: Verdict, mark: Mark) -> bool:
    """Jump above every version of earlier terms and draw up to a ceiling, both written by now.

    False, with nothing changed, if the database is no longer as `side` says.
    """
    state = Side(*tx.execute(_LOCK).one())
    if (state.term, state.next_term, state.history) != (side.term, side.next_term, side.history):
        return False
    version = max(state.version, verdict.version)
    if version >= mark.ceiling:
        return False
    if version > state.version:
        gap = {"start": state.version, "end": version}
        if verdict.is_restored:
            tx.execute(_KEEP_GAP)
            tx.execute(_OPEN_GAP, gap)
        else:
            tx.execute(_EXPIRE, gap)
    tx.execute(_BEGIN, {"version": version, "ceiling": mark.ceiling})
    values = {"history": mark.history, "number": mark.number, "term": mark.term}
    tx.execute(_BEGIN_TERM, {**values, "tick": max(mark.tick, state.tick)})
    if verdict.is_restored:
        tx.execute(_HOLD)
        tx.execute(_NOTE_RESTORED, {"reason": verdict.reason})
    return True


def raise_ceiling(tx: Transaction, term: UUID, ceiling: int) -> None:
    """Draw up to a ceiling that is written to the witness by now."""
    tx.execute(_RAISE, {"ceiling": ceiling, "term": term})


def tick(tx: Transaction, secs: float, written: Mark | None) -> int | None:
    """Raise the tick if the last one is `secs` old; returns it, None if it is younger.

    `written` is the highest mark that is known to be in the bucket.
    """
    history, number = (written.history, written.number) if written else (0, 0)
    values = {"secs": secs, "history": history, "number": number}
    value: int | None = tx.execute(_TICK, values).scalar_one_or_none()
    return value


def supersede(tx: Transaction, history: int) -> None:
    """Stop permanently: another database has begun a newer history in the bucket."""
    tx.execute(_SUPERSEDE, {"history": history})
    tx.execute(_STOP)


def note_reconciled(tx: Transaction, restored_at_nanos: int) -> None:
    """Record that nothing of a restore is left to bring back, unless there was another one."""
    tx.execute(_NOTE_RECONCILED, {"restored_at": restored_at_nanos})


def take_over(tx: Transaction) -> bool:
    """Let a database that was superseded begin a history; False if it was not."""
    return tx.execute(_CLEAR_SUPERSEDED).rowcount > 0


def status(tx: Transaction) -> WitnessStatus:
    """Read the operator's view of the witness."""
    return WitnessStatus(*tx.execute(_STATUS).one())
