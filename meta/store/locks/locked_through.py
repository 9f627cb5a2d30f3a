"""Resources that a call concerns without naming them, whose locks may refuse it."""

from uuid import UUID

from sqlalchemy import TextClause, Uuid, bindparam, text

from meta.store.engine.pool import Transaction
from segments.keys import QuarantineKey

_ID = bindparam("id", type_=Uuid)


def _ids(statement: str) -> TextClause:
    return text(statement).bindparams(_ID)


_OF_SEGMENT = _ids("""
    SELECT d.id FROM segments s JOIN datasets d ON d.key = s.dataset_key WHERE s.id = :id
""")
_OF_MOVE = _ids("""
    SELECT d.id FROM rewrite_jobs r JOIN datasets d ON d.key = r.dataset_key
    WHERE r.id = :id AND r.store IS NOT NULL
""")
_FOLLOWERS = _ids("""
    SELECT d.id FROM schema_bindings b JOIN datasets d ON d.id = b.dataset_id
    WHERE b.schema_id = :id AND d.purged_at IS NULL
""")
_LINKED = {
    (owner, other): _ids(
        f"SELECT DISTINCT {other}_id FROM view_dataset_projections WHERE {owner}_id = :id"  # noqa: S608
    )
    for owner, other in (
        ("dataset", "view"),
        ("view", "dataset"),
        ("projection", "dataset"),
        ("projection", "view"),
    )
}
# Records of a baby segment without stamps may be of every dataset that has not merged it.
_OF_BABY = _ids("""
    WITH baby AS (
      SELECT dataset_ids FROM baby_segments WHERE stream_id = :id AND "offset" = :offset)
    SELECT i FROM baby, unnest(dataset_ids) AS i
    WHERE NOT EXISTS (SELECT FROM stream_datasets e WHERE e.stream_id = :id AND e.dataset_id = i
                      AND e.merged_offset >= :offset)
    UNION SELECT e.dataset_id FROM stream_datasets e
    WHERE e.stream_id = :id AND e.merged_offset < :offset
      AND NOT EXISTS (SELECT FROM baby WHERE dataset_ids IS NOT NULL)
""")
_OF_VERDICT = _ids("""
    SELECT dataset_id FROM quarantined_ranges
    WHERE stream_id = :id AND verdict = :verdict AND first_offset <= :offset
      AND last_offset >= :offset AND dataset_id IS NOT NULL
""")
# By the routing of the baby segment's time, or that of today where no other is known.
_OF_TOKEN = _ids("""
    SELECT (CASE cast(:signal AS text) WHEN 'logs' THEN r.logs_dataset_id
      WHEN 'traces' THEN r.traces_dataset_id ELSE r.metrics_dataset_id END)
    FROM (
      (SELECT 0 AS rank, logs_dataset_id, traces_dataset_id, metrics_dataset_id
       FROM routing_periods
       WHERE stream_id = :id AND token_id = :token AND from_offset <= :offset
       ORDER BY from_offset DESC LIMIT 1)
      UNION ALL
      SELECT 1, logs_dataset_id, traces_dataset_id, metrics_dataset_id
      FROM ingest_tokens WHERE id = :token
    ) r ORDER BY r.rank LIMIT 1
""").bindparams(bindparam("token", type_=Uuid))
_OF_WHOLE = _ids("""
    SELECT unnest(dataset_ids) FROM baby_segments WHERE stream_id = :id AND "offset" = :offset
    UNION SELECT dataset_id FROM stream_datasets WHERE stream_id = :id
      AND NOT EXISTS (SELECT FROM baby_segments WHERE stream_id = :id AND "offset" = :offset
                      AND dataset_ids IS NOT NULL)
""")
_IS_UUID_CHARACTERS = 36


def datasets_of_segment(tx: Transaction, segment_id: UUID) -> set[UUID]:
    """The dataset of a segment."""
    return _read(tx, _OF_SEGMENT, segment_id)


def datasets_of_move(tx: Transaction, job_id: UUID) -> set[UUID]:
    """The dataset that a rewrite moves to another store, if it is one that moves."""
    return _read(tx, _OF_MOVE, job_id)


def datasets_of_schema(tx: Transaction, schema_id: UUID) -> set[UUID]:
    """The datasets that are bound to a schema."""
    return _read(tx, _FOLLOWERS, schema_id)


def linked(tx: Transaction, owner: str, owner_id: UUID, other: str) -> set[UUID]:
    """The views or datasets that links of a dataset, view or projection name."""
    return _read(tx, _LINKED[owner, other], owner_id)


def datasets_of_baby(tx: Transaction, stream_id: UUID, offset: int) -> set[UUID]:
    """The datasets that may have records in a baby segment which they have not merged."""
    return _read(tx, _OF_BABY, stream_id, offset=offset)


def datasets_of_payload(tx: Transaction, payload: QuarantineKey) -> set[UUID]:
    """The datasets that the records of a quarantined payload were sent to, as far as rows say."""
    stream_id, offset = UUID(payload.stream_id), payload.offset
    if payload.verdict is not None:
        verdict = _read(tx, _OF_VERDICT, stream_id, offset=offset, verdict=payload.verdict)
        if verdict:
            return verdict
    if payload.token_id is None:
        return _read(tx, _OF_WHOLE, stream_id, offset=offset)
    if len(payload.token_id) != _IS_UUID_CHARACTERS:
        return set()
    token_id = UUID(payload.token_id)
    return _read(tx, _OF_TOKEN, stream_id, offset=offset, token=token_id, signal=payload.signal)


def _read(tx: Transaction, statement: TextClause, id_: UUID, **values: object) -> set[UUID]:
    rows = tx.execute(statement, {"id": id_, **values}).scalars()
    return {resource_id for resource_id in rows if resource_id is not None}
