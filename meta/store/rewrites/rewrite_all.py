"""Rewrites: every segment of a version is written again, over as many calls as it takes."""

import json
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from meta.store.access import audit
from meta.store.engine.pool import Transaction

SEGMENTS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Rewrite:
    """An unfinished rewrite: the segments that existed at `version`, by the clock `started_at`."""

    version: int
    started_at: datetime


_FIND = text("SELECT version, started_at FROM rewrites WHERE dataset_filter = :filter FOR UPDATE")
_DATASET_ID = text("SELECT id FROM datasets WHERE key = :key")
_BEGIN = text("""
    INSERT INTO rewrites (dataset_filter, version, started_at)
    SELECT :filter, version, clock_timestamp() FROM meta_state
    ON CONFLICT (dataset_filter) DO UPDATE
    SET version = excluded.version, started_at = excluded.started_at
    RETURNING version, started_at
""")
# Rows of the version are the oldest ones: created_at lets the index stop at the beginning.
_OF_VERSION = """
    FROM segments s
    WHERE s.dataset_key = :key AND s.tombstone_version IS NULL AND s.quarantined_at IS NULL
      AND s.created_at <= :started_at AND s.created_version <= :version
"""
_IS_UNPLANNED = "NOT EXISTS (SELECT FROM merge_task_inputs i WHERE i.segment_id = s.id)"
_UNPLANNED = text(f"""
    SELECT s.id {_OF_VERSION} AND {_IS_UNPLANNED} ORDER BY s.created_at, s.id LIMIT :most
""")
_IN_DATASETS = f"""
    FROM datasets d WHERE d.deleted_at IS NULL
      AND (cast(:only AS integer) IS NULL OR d.key = :only)
      AND EXISTS (SELECT {_OF_VERSION.replace(":key", "d.key")}"""
_IS_ANY_LEFT = text(f"SELECT EXISTS (SELECT {_IN_DATASETS}))")
_DATASETS_LEFT = text(f"SELECT d.key {_IN_DATASETS} AND {_IS_UNPLANNED}) ORDER BY d.key")


def resume(tx: Transaction, dataset_filter: str, only: int | None, name: str | None) -> Rewrite:
    """The unfinished rewrite of this filter; a new one at the current version if there is none.

    `only` and `name` are the key and the name of its dataset, None = all of them.
    """
    row = tx.execute(_FIND, {"filter": dataset_filter}).one_or_none()
    if row is not None:
        rewrite = Rewrite(*row)
        if tx.execute(_IS_ANY_LEFT, _values(rewrite) | {"only": only}).scalar_one():
            return rewrite
    rewrite = Rewrite(*tx.execute(_BEGIN, {"filter": dataset_filter}).one())
    detail = {"dataset": name, "before": None, "after": {"version": rewrite.version}}
    subject_id = "" if only is None else tx.execute(_DATASET_ID, {"key": only}).scalar_one()
    audit.note(tx, "RewriteAllSegments", subject_id, json.dumps(detail))
    return rewrite


def datasets_left(tx: Transaction, only: int | None, rewrite: Rewrite) -> list[int]:
    """Keys of the live datasets with segments of the rewrite that are in no task."""
    return list(tx.execute(_DATASETS_LEFT, _values(rewrite) | {"only": only}).scalars())


def unplanned(tx: Transaction, dataset_key: int, rewrite: Rewrite) -> list[UUID]:
    """Some of a dataset's segments of the rewrite that are in no task."""
    values = _values(rewrite) | {"key": dataset_key, "most": SEGMENTS_AT_ONCE}
    return list(tx.execute(_UNPLANNED, values).scalars())


def _values(rewrite: Rewrite) -> dict[str, object]:
    return {"version": rewrite.version, "started_at": rewrite.started_at}
