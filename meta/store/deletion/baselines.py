"""Baselines: the retention of a dataset whose deletions the brake takes for expected.

A segment that a baseline expires is not a loss. A changed retention becomes the baseline

- at once, if it expires nothing that the baseline keeps, or an operator confirms the expiry;
- with an operator's release of the brake;
- after a day, if the brake did not hold the segments that it expires, and none that was tombstoned
  before the change is left. A longer retention only has this way: until then tombstones are
  compared with the retention that was in force when they came to be.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import text

from meta.errors import DeletesUnconfirmed
from meta.store.catalog.dataset_settings import DatasetSettings
from meta.store.deletion.due import HAS_SUCCESSOR, ended_before
from meta.store.engine.pool import Transaction
from meta.store.versions.clock import ago

AGE_SECS = 86_400
# As many segments are deleted in any case, because a small dataset has only a few.
SEGMENTS_FLOOR = 100


def expires(event_secs: str, created_secs: str, ahead: str = "") -> str:
    """True of a segment `s` that a retention expires; expressions in seconds, 0 = kept.

    `ahead` shortens both, as in " - x": true of a segment that expires in so many seconds.
    """
    event, created = (f"nullif({secs}, 0){ahead}" for secs in (event_secs, created_secs))
    return f"coalesce(s.created_at < {ago(created)} OR s.end_ns < {ended_before(event)}, false)"


def is_expected(ahead: str = "") -> str:
    """True of a segment `s` that its dataset's baseline expires, or will in some seconds."""
    return (
        "EXISTS (SELECT FROM retention_baselines r WHERE r.dataset_key = s.dataset_key"
        f" AND {expires('r.event_secs', 'r.created_secs', ahead)})"
    )


IS_EXPECTED = is_expected()
# True for a tombstoned segment `s` of a dataset whose brake `b` has not let it through.
UNAPPROVED = (
    f"s.tombstone_version > coalesce(b.released_version, 0) AND NOT {IS_EXPECTED}"
    f" AND NOT {HAS_SUCCESSOR}"
)
# A segment that a repair hid may come back.
_IS_UNAPPROVED_TOMBSTONE = (
    f"s.tombstone_version IS NOT NULL AND s.tombstone_at < 'infinity' AND {UNAPPROVED}"
)
_RETENTION = "coalesce(d.event_retention_secs, 0), coalesce(d.created_retention_secs, 0)"
# Servers of the release before change a retention without a note of it.
_SEE = text(f"""
    INSERT INTO retention_baselines AS r (dataset_key, seen_event_secs, seen_created_secs)
    SELECT d.key, {_RETENTION}
    FROM datasets d LEFT JOIN retention_baselines r ON r.dataset_key = d.key
    WHERE d.key = ANY(:keys)
      AND ({_RETENTION}) <> (coalesce(r.seen_event_secs, 0), coalesce(r.seen_created_secs, 0))
    ORDER BY d.key
    ON CONFLICT (dataset_key) DO UPDATE SET seen_event_secs = excluded.seen_event_secs,
      seen_created_secs = excluded.seen_created_secs, seen_since = now()
""")  # noqa: S608
# Live segments count as well: a server tombstones expired segments some at a time.
_SETTLE = text(f"""
    UPDATE retention_baselines r SET event_secs = seen_event_secs, created_secs = seen_created_secs
    WHERE r.dataset_key = ANY(:keys)
      AND (seen_event_secs, seen_created_secs) <> (event_secs, created_secs)
      AND seen_since < {ago(":age")}
      AND NOT EXISTS (SELECT FROM deletion_brakes b
                      WHERE b.dataset_key = r.dataset_key AND b.braked_at IS NOT NULL)
      AND NOT EXISTS (SELECT FROM segments s WHERE s.dataset_key = r.dataset_key
                      AND s.tombstone_version IS NOT NULL AND s.tombstone_at < r.seen_since)
      AND (SELECT count(*) <= :floor OR sum(s.compressed_size_bytes) * 100 <= :percent * (
                  coalesce(sum(s.compressed_size_bytes)
                           FILTER (WHERE s.tombstone_version IS NOT NULL), 0)
                  + min(t.live_compressed_size_bytes))
           FROM segments s JOIN dataset_stats t ON t.dataset_key = s.dataset_key
           LEFT JOIN deletion_brakes b ON b.dataset_key = s.dataset_key
           WHERE s.dataset_key = r.dataset_key AND ({_IS_UNAPPROVED_TOMBSTONE}
             OR s.tombstone_version IS NULL AND NOT {IS_EXPECTED}
                AND {expires("r.seen_event_secs", "r.seen_created_secs")}))
""")  # noqa: S608
_COUNT = text(f"""
    SELECT count(*), coalesce(sum(s.compressed_size_bytes), 0)::bigint,
           coalesce(sum(s.number_of_events), 0)::bigint, min(s.start_ns), max(s.end_ns)
    FROM segments s LEFT JOIN deletion_brakes b ON b.dataset_key = s.dataset_key
    WHERE s.dataset_key = :key
      AND {expires("cast(:event AS bigint)", "cast(:created AS bigint)")}
      AND (s.tombstone_version IS NULL AND NOT {IS_EXPECTED} OR {_IS_UNAPPROVED_TOMBSTONE})
""")  # noqa: S608
_SHORTEN = text("""
    UPDATE retention_baselines SET
      event_secs = coalesce(least(nullif(event_secs, 0), nullif(cast(:event AS bigint), 0)), 0),
      created_secs =
        coalesce(least(nullif(created_secs, 0), nullif(cast(:created AS bigint), 0)), 0)
    WHERE dataset_key = :key
""")
_LIFT = text(f"""
    UPDATE deletion_brakes b SET braked_at = NULL
    WHERE b.dataset_key = :key AND braked_at IS NOT NULL AND NOT EXISTS (
      SELECT FROM segments s WHERE s.dataset_key = b.dataset_key AND {_IS_UNAPPROVED_TOMBSTONE})
""")  # noqa: S608
_ACCEPT = text(f"""
    INSERT INTO retention_baselines AS r
      (dataset_key, event_secs, created_secs, seen_event_secs, seen_created_secs)
    SELECT d.key, {_RETENTION}, {_RETENTION} FROM datasets d WHERE d.key = :key
    ON CONFLICT (dataset_key) DO UPDATE SET
      event_secs = excluded.event_secs, created_secs = excluded.created_secs
""")  # noqa: S608


@dataclass(frozen=True, slots=True)
class Expiring:
    """Number and size of the segments a retention deletes and the baseline keeps; compressed.

    Times are those of their first and last event, None if there is none.
    """

    segments: int = 0
    size_bytes: int = 0
    number_of_records: int = 0
    first_nanos: int | None = None
    last_nanos: int | None = None


def change(
    tx: Transaction,
    dataset_key: int,
    settings: DatasetSettings,
    deletes_max: int | None,
    percent_max: int,
) -> Expiring:
    """Compare a dataset's stored retention with its baseline; returns the expiry to confirm.

    `deletes_max` is the number of segments that an operator has confirmed, None if none was asked.
    Raises DeletesUnconfirmed if more of them expire. The caller holds the dataset's row.
    """
    values = _values(dataset_key, settings)
    # The earlier retention may have been in force for long enough without anything coming due.
    _settle(tx, [dataset_key], percent_max)
    tx.execute(_SEE, {"keys": [dataset_key]})
    expiring = _count(tx, values)
    if deletes_max is None and expiring.segments > 0:
        return expiring
    if deletes_max is not None and expiring.segments > deletes_max:
        raise DeletesUnconfirmed(
            f"the retention deletes {expiring.segments} segments of {expiring.size_bytes} bytes,"
            f" more than the {deletes_max} that were confirmed",
            segments=expiring.segments,
        )
    tx.execute(_SHORTEN, values)
    if deletes_max is not None:
        tx.execute(_LIFT, values)
    return Expiring()


def preview(
    tx: Transaction, dataset_key: int, settings: DatasetSettings, percent_max: int
) -> Expiring:
    """Return what `change` would count for a retention that is not stored; nothing is kept.

    The caller holds the dataset's row.
    """
    undone = tx.begin_nested()
    try:
        _settle(tx, [dataset_key], percent_max)
        return _count(tx, _values(dataset_key, settings))
    finally:
        undone.rollback()


def accept(tx: Transaction, dataset_key: int) -> None:
    """Take the retention in force as the baseline."""
    tx.execute(_ACCEPT, {"key": dataset_key})


def settle(tx: Transaction, dataset_keys: Collection[int], percent_max: int) -> None:
    """Take a retention as the baseline that has been in force for a day without a brake.

    The caller holds the datasets' rows.
    """
    tx.execute(_SEE, {"keys": list(dataset_keys)})
    _settle(tx, list(dataset_keys), percent_max)


def _settle(tx: Transaction, keys: list[int], percent_max: int) -> None:
    values = {"keys": keys, "age": AGE_SECS, "floor": SEGMENTS_FLOOR, "percent": percent_max}
    tx.execute(_SETTLE, values)


def _values(dataset_key: int, settings: DatasetSettings) -> dict[str, int]:
    return {
        "key": dataset_key,
        "event": settings.event_retention_secs,
        "created": settings.created_retention_secs,
    }


def _count(tx: Transaction, values: dict[str, int]) -> Expiring:
    return Expiring(*tx.execute(_COUNT, values).one())
