"""Expiry of rows that are kept for a documented time: one rule a table.

Each rule does a bounded piece and answers how many rows it took, so that a backlog is worked off
in short transactions. None of them changes a state that a nursery or a reader may still see, except
behind the floors that make such reads answer VERSION_EXPIRED.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import TextClause, text

from meta.store.deletion import dataset_deletion, retention
from meta.store.engine.pool import Transaction
from meta.store.streams import merged_floors, merged_offsets
from meta.store.versions.clock import ago

ROWS_MAX = 5_000
# Entries, or tokens of streams, or datasets, of a rule that goes through all of them.
KEYS_AT_ONCE = 1_000
# Any number, the same in every release; each rule takes it for one transaction.
LOCK_KEY = 7_310_579_241_902_115
_TRY_LOCK = text("SELECT pg_try_advisory_xact_lock(:key)")
REMEMBERED_MONTHS = 13
_AGE_AGO = ago(":age")
_FIRST_ID = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Ages:
    """Ages at which rows are deleted, in seconds."""

    checkpoint: float
    grace: float
    baby_row: float
    retired_stream: float
    identity: float
    finished_task: float
    audit: float
    dataset_grace: float


@dataclass(slots=True)
class ExpiryPages:
    """Pages over the keys of a statement, one a run, so that no run reads every row.

    Each process goes round by itself, and finds the work of the others done. A key is a stream, or
    a stream with a dataset or token of it.
    """

    statement: TextClause
    most: int
    last: tuple[UUID, UUID] = (_FIRST_ID, _FIRST_ID)

    def next(self, tx: Transaction) -> dict[str, list[UUID]]:
        """The columns of the next page; behind the last one the first comes again."""
        values = {"last": self.last[0], "last_other": self.last[1], "most": self.most}
        keys = [tuple(row) for row in tx.execute(self.statement, values)]
        self.last = (_FIRST_ID, _FIRST_ID)
        if len(keys) == self.most:
            self.last = keys[-1][0], keys[-1][-1]
        return {"ids": [key[0] for key in keys], "others": [key[-1] for key in keys]}

    def is_within(self) -> bool:
        """True if the last page was not the last one of all."""
        return self.last[0] != _FIRST_ID


@dataclass(frozen=True, slots=True)
class ExpiryRule:
    """The expiry rule of one table."""

    name: str
    run: Callable[[Transaction, Ages], int]
    # A batch that deletes fewer rows than this is the last one, unless there are more pages.
    rows_max: int = ROWS_MAX
    has_more_pages: Callable[[], bool] = lambda: False


def _oldest(table: str, moment: str, condition: str = "true") -> str:
    """A statement that deletes the oldest rows behind an age."""
    return f"""
    DELETE FROM {table} WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM {table} WHERE {condition} AND {moment} < {_AGE_AGO}
      ORDER BY {moment} LIMIT :most))
"""  # noqa: S608


_ENTRIES = text("""
    SELECT stream_id, dataset_id FROM stream_datasets
    WHERE (stream_id, dataset_id) > (:last, :last_other) ORDER BY stream_id, dataset_id LIMIT :most
""")
_CARRIED = text("""
    SELECT stream_id, token_id FROM stream_tokens
    WHERE (stream_id, token_id) > (:last, :last_other) ORDER BY stream_id, token_id LIMIT :most
""")
_PENDING = text(
    "SELECT stream_id FROM stream_heads WHERE is_pending AND stream_id > :last"
    " ORDER BY stream_id LIMIT :most"
)
# Per entry the newest one past the age stays, so that a read within the age finds it.
_CHECKPOINTS_AGO = ago("greatest(:age, coalesce(nullif(d.tombstone_grace_secs, 0), :grace))")
_CHECKPOINTS = text(f"""
    WITH kept AS (
      SELECT e.stream_id, e.dataset_id, k.version
      FROM unnest(cast(:ids AS uuid[]), cast(:others AS uuid[])) AS e (stream_id, dataset_id)
      JOIN datasets d ON d.id = e.dataset_id CROSS JOIN LATERAL (
        SELECT c.version FROM offset_checkpoints c
        WHERE c.stream_id = e.stream_id AND c.dataset_id = e.dataset_id
          AND c.created_at < {_CHECKPOINTS_AGO}
        ORDER BY c.created_at DESC LIMIT 1) k)
    DELETE FROM offset_checkpoints WHERE ctid = ANY(ARRAY(
      -- The inner limit keeps it a look-up an entry, whatever the planner expects of `kept`.
      SELECT c.ctid FROM kept k CROSS JOIN LATERAL (
        SELECT ctid FROM offset_checkpoints
        WHERE stream_id = k.stream_id AND dataset_id = k.dataset_id AND version < k.version
        LIMIT :most) c
      LIMIT :most))
""")  # noqa: S608
_BABIES = _oldest("baby_segments", "reaped_at")
_REMOVALS = _oldest("stream_removals", "removed_at") + "RETURNING version"
_EMPTY_REGISTRATIONS = (
    _oldest("registrations", "created_at", "segment_id IS NULL") + "RETURNING version"
)
_IDENTITIES = _oldest("object_identities", "changed_at", "state > 1")
_TASKS = f"""
    WITH gone AS ({_oldest("merge_tasks", "finished_at", "state > 1")} RETURNING id),
    attempts AS (DELETE FROM merge_attempts WHERE task_id IN (SELECT id FROM gone))
    SELECT id FROM gone
"""  # noqa: S608
_AUDIT = _oldest("audit_log", "at")
_RESOURCES = f"""
    WITH gone AS ({_oldest("resources", "removed_at", "removed_at IS NOT NULL")} RETURNING id),
    authors AS (DELETE FROM catalog_authors WHERE entry_id IN (SELECT id FROM gone))
    SELECT id FROM gone
"""  # noqa: S608
_RAISE_FLOOR = "UPDATE meta_state SET {floor} = greatest({floor}, :version)"
# A period ends where the next one of its pair begins; nothing unmerged lies below the floor.
_PERIODS = text(f"""
    DELETE FROM routing_periods WHERE ctid = ANY(ARRAY(
      SELECT p.ctid FROM unnest(cast(:ids AS uuid[]), cast(:others AS uuid[])) AS page (s, t)
      CROSS JOIN LATERAL (
        SELECT ctid, stream_id, lead(from_offset) OVER (ORDER BY from_offset) AS next_offset
        FROM routing_periods WHERE stream_id = s AND token_id = t) p
      JOIN ingest_streams s ON s.id = p.stream_id
      JOIN stream_heads h ON h.stream_id = s.id
      -- Few have a next one; the floor is looked up for those alone.
      WHERE CASE WHEN p.next_offset IS NOT NULL THEN
        p.next_offset - 1 <= coalesce({merged_offsets.lowest_in("s", "h")}, s.deleted_offset) END
      LIMIT :most))
""")  # noqa: S608
_LINEAGE_ENDS = text("""
    DELETE FROM lineage_ends WHERE segment_id = ANY(ARRAY(
      SELECT segment_id FROM lineage_ends LIMIT :most FOR UPDATE SKIP LOCKED))
    RETURNING segment_id
""")
_FORGET_FURTHER = text(
    "DELETE FROM registration_segments WHERE segment_id = ANY(:ids) RETURNING first_segment_id"
)
# A registration is kept while any of its segments has a living descendant.
_FORGET_REGISTRATIONS = text("""
    DELETE FROM registrations WHERE segment_id IN (
      SELECT i FROM unnest(cast(:ids AS uuid[])) AS i
      WHERE NOT EXISTS (SELECT FROM registration_segments WHERE first_segment_id = i)
        AND NOT EXISTS (SELECT FROM segment_lineage WHERE input_id = i)
        AND NOT EXISTS (SELECT FROM segments WHERE id = i))
""")
_FORGET_INPUTS = text("DELETE FROM segment_lineage WHERE output_id = ANY(:ids) RETURNING input_id")
# An input that is still a row ends when its own deletion is confirmed.
_END_INPUTS = text("""
    INSERT INTO lineage_ends SELECT DISTINCT i FROM unnest(cast(:ids AS uuid[])) AS i
    WHERE NOT EXISTS (SELECT FROM segment_lineage WHERE input_id = i)
      AND NOT EXISTS (SELECT FROM segments WHERE id = i)
    ON CONFLICT DO NOTHING
""")
# Steps from one dataset to the next along the index, for a page of them.
_USAGE = text("""
    WITH RECURSIVE used AS (
      (SELECT dataset_id FROM dataset_usage WHERE dataset_id > :last ORDER BY 1 LIMIT 1)
      UNION ALL
      SELECT (SELECT dataset_id FROM dataset_usage WHERE dataset_id > used.dataset_id
              ORDER BY 1 LIMIT 1) FROM used WHERE used.dataset_id IS NOT NULL)
    SELECT dataset_id FROM used WHERE dataset_id IS NOT NULL LIMIT :most
""")
_OLD_USAGE = text("""
    DELETE FROM dataset_usage WHERE ctid = ANY(ARRAY(
      SELECT u.ctid FROM unnest(cast(:ids AS uuid[])) AS id CROSS JOIN LATERAL (
        SELECT ctid FROM dataset_usage WHERE dataset_id = id AND month < to_char(
          now() AT TIME ZONE 'UTC' - make_interval(months => :months), 'YYYY-MM')) u
      LIMIT :most))
""")


_pending_pages = ExpiryPages(_PENDING, merged_floors.HEADS_AT_ONCE)
_checkpoint_pages = ExpiryPages(_ENTRIES, KEYS_AT_ONCE)
_period_pages = ExpiryPages(_CARRIED, KEYS_AT_ONCE)
_usage_pages = ExpiryPages(_USAGE, KEYS_AT_ONCE)


def run(tx: Transaction, rule: ExpiryRule, ages: Ages) -> int | None:
    """Run one batch of a rule; None if another server runs it."""
    if not tx.execute(_TRY_LOCK, {"key": LOCK_KEY}).scalar_one():
        return None
    return rule.run(tx, ages)


def _raise_floors(tx: Transaction, _ages: Ages) -> int:
    return merged_floors.raise_floors(tx, _pending_pages.next(tx)["ids"])


def _remove_checkpoints(tx: Transaction, ages: Ages) -> int:
    page = _checkpoint_pages.next(tx)
    return _count(tx, _CHECKPOINTS, {"age": ages.checkpoint, "grace": ages.grace, **page})


def _remove_periods(tx: Transaction, _ages: Ages) -> int:
    return _count(tx, _PERIODS, _period_pages.next(tx))


def _remove_usage(tx: Transaction, _ages: Ages) -> int:
    values = {"ids": _usage_pages.next(tx)["ids"], "months": REMEMBERED_MONTHS}
    return _count(tx, _OLD_USAGE, values)


def _end_lineages(tx: Transaction, _ages: Ages) -> int:
    ids = list(tx.execute(_LINEAGE_ENDS, {"most": ROWS_MAX}).scalars())
    if ids:
        firsts = tx.execute(_FORGET_FURTHER, {"ids": ids}).scalars()
        tx.execute(_FORGET_REGISTRATIONS, {"ids": [*ids, *firsts]})
        inputs = list(tx.execute(_FORGET_INPUTS, {"ids": ids}).scalars())
        tx.execute(_END_INPUTS, {"ids": inputs})
    return len(ids)


def _count(tx: Transaction, statement: TextClause, values: Mapping[str, object]) -> int:
    return tx.execute(statement, {**values, "most": ROWS_MAX}).rowcount


def _aged(name: str, statement: str, age: str, floor: str = "") -> ExpiryRule:
    """The rule of rows of an age; `floor` is the version below which they would be missed."""

    def run(tx: Transaction, ages: Ages) -> int:
        deleted = tx.execute(text(statement), {"age": getattr(ages, age), "most": ROWS_MAX})
        if not floor:
            return deleted.rowcount
        versions = deleted.scalars().all()
        if versions:
            tx.execute(text(_RAISE_FLOOR.format(floor=floor)), {"version": max(versions)})
        return len(versions)

    return ExpiryRule(name, run)


# Often: a poll looks at every stream that is marked as having a backlog, from its floor on, and at
# every open task.
FREQUENT: tuple[ExpiryRule, ...] = (
    # All pages in a round: the search of a poll begins at the floors.
    ExpiryRule("backlog", _raise_floors, has_more_pages=_pending_pages.is_within),
    ExpiryRule(
        "tasks_of_deleted_datasets",
        lambda tx, _: dataset_deletion.cancel_tasks(tx),
        dataset_deletion.TASKS_AT_ONCE,
    ),
)
SLOW: tuple[ExpiryRule, ...] = (
    ExpiryRule("checkpoints", _remove_checkpoints),
    _aged("babies", _BABIES, "baby_row"),
    _aged("removals", _REMOVALS, "retired_stream", "removals_floor"),
    _aged("empty_registrations", _EMPTY_REGISTRATIONS, "identity", "history_floor"),
    ExpiryRule("routing_periods", _remove_periods),
    ExpiryRule("lineages", _end_lineages),
    _aged("identities", _IDENTITIES, "identity"),
    _aged("tasks", _TASKS, "finished_task"),
    _aged("audit", _AUDIT, "audit"),
    _aged("removed_resources", _RESOURCES, "audit"),
    ExpiryRule("retention", lambda tx, _: retention.bury_expired(tx), retention.SEGMENTS_AT_ONCE),
    ExpiryRule(
        "deleted_datasets",
        lambda tx, ages: dataset_deletion.purge(tx, ages.dataset_grace),
        dataset_deletion.SEGMENTS_AT_ONCE,
    ),
    ExpiryRule("usage", _remove_usage),
)
