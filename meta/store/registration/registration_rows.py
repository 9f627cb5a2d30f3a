"""The rows of registrations, written at one version in one statement."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.segments import segments, stats
from meta.store.segments.segments import Claim
from meta.store.streams.stream_datasets import EntryMove
from meta.store.versions import versions
from meta.store.versions.versions import Version

# Rows of more moves are written before the counter is taken.
MOVES_UNDER_COUNTER_MAX = 256
# Calls that are written together, each with its claims; those of known segments are skipped.
Fresh = Sequence[tuple[Sequence[EntryMove], Sequence[Claim]]]

# Every part reads `drawn` first, so the counter is locked before all rows that it guards, and
# without a version nothing is written. Arrays travel as literals: see meta.store.engine.pg_arrays.
# The entry's lock makes created_at rise with the version.
_ROWS = f"""
    WITH drawn AS ({{drawn}}),
    made AS ({segments.INSERT.format(version="drawn.version", first="drawn,")}),
    moved AS (
      UPDATE stream_datasets
      SET merged_offset = e, merged_ingest_time_nanos = t, changed_version = drawn.version
      FROM drawn, unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[]),
                         cast(:ends AS bigint[]), cast(:times AS bigint[])) AS k (s, d, e, t)
      WHERE stream_id = s AND dataset_id = d
    ), checkpointed AS (
      INSERT INTO offset_checkpoints (stream_id, dataset_id, version, stream_offset,
        ingest_timestamp_nanos, created_at)
      SELECT s, d, drawn.version, e, t, clock_timestamp()
      FROM drawn, unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[]),
                         cast(:ends AS bigint[]), cast(:times AS bigint[])) AS new (s, d, e, t)
    ), remembered AS (
      INSERT INTO registrations (stream_id, dataset_id, start_offset, end_offset,
        ingest_time_nanos, version, segment_id, created_at, moved_from)
      SELECT s, d, a, e, t, drawn.version, g, clock_timestamp(), nullif(old.merged_offset, a)
      FROM drawn, unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[]),
                         cast(:starts AS bigint[]), cast(:ends AS bigint[]),
                         cast(:times AS bigint[]), cast(:firsts AS uuid[]))
                    AS new (s, d, a, e, t, g)
        JOIN stream_datasets old ON old.stream_id = s AND old.dataset_id = d
    ), remembered_further AS (
      INSERT INTO registration_segments (first_segment_id, segment_id)
      SELECT f, g FROM drawn, unnest(cast(:firsts_of AS uuid[]), cast(:further AS uuid[]))
                                AS new (f, g)
    ){{counted}}
    SELECT version FROM drawn
"""  # noqa: S608
_WRITE = text(
    _ROWS.format(
        drawn=versions.ALLOCATE, counted=f", counted AS ({stats.ADD.format(first='drawn,')})"
    )
)
_WRITE_AT = text(_ROWS.format(drawn="SELECT cast(:version AS bigint) AS version", counted=""))


def write(tx: Transaction, fresh: Fresh) -> Version:
    """Write calls that are checked, their entries locked and their keys claimed, at one version.

    The counter is the last of all locks but the statistics.
    """
    claims = [claimed for _, call_claims in fresh for claimed in call_claims]
    changes = segments.counted(claims)
    values = _columns(fresh, claims)
    num_moves = sum(len(moves) for moves, _ in fresh)
    if num_moves > MOVES_UNDER_COUNTER_MAX:
        version = versions.reserve(tx, num_moves)
        tx.execute(_WRITE_AT, {**values, "version": version})
        versions.take(tx, version)
        stats.add(tx, changes)
        return version
    values |= stats.columns(changes) or stats.NO_COLUMNS
    return versions.drawn_by(tx, lambda: tx.execute(_WRITE, values).scalar_one_or_none())


def _columns(fresh: Fresh, claims: Sequence[Claim]) -> dict[str, object]:
    moves = [move for call_claims, _ in fresh for move in call_claims]
    firsts: list[UUID | None] = []
    further: list[tuple[UUID, UUID]] = []
    for own_moves, call_claims in fresh:
        firsts += [call_claims[0].segment_id if call_claims else None] * len(own_moves)
        further += [(call_claims[0].segment_id, claimed.segment_id) for claimed in call_claims[1:]]
    return {
        **move_columns(moves),
        **segments.columns(claims),
        "starts": pg_arrays.numbers([move.offsets.start - 1 for move in moves]),
        "firsts": pg_arrays.uuids(firsts),
        "firsts_of": pg_arrays.uuids([first for first, _ in further]),
        "further": pg_arrays.uuids([segment_id for _, segment_id in further]),
    }


def move_columns(moves: Sequence[EntryMove]) -> dict[str, object]:
    """The keys, ends and times of moves as parameters."""
    return {
        "streams": pg_arrays.uuids([move.stream_id for move in moves]),
        "datasets": pg_arrays.uuids([move.dataset_id for move in moves]),
        "ends": pg_arrays.numbers([move.offsets.end for move in moves]),
        "times": pg_arrays.numbers([move.ingest_time_nanos for move in moves]),
    }
