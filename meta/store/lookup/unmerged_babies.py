"""Committed babies of a dataset beyond a version's checkpoints, for readers of fresh records."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.errors import VersionExpired
from meta.store.engine.pool import Transaction
from meta.store.lookup import lineage
from meta.store.streams.stream_reads import BabyRow, make_baby
from meta.store.versions.clock import ago

STREAMS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class OffsetCut:
    """Offsets (after, last] of a stream: committed when the cut was made, not in the version."""

    stream_id: UUID
    after: int
    last: int


_HEADS = text(
    "SELECT stream_id, committed_offset FROM stream_heads WHERE stream_id = ANY(:streams)"
    " ORDER BY stream_id"
)
# A nursery may delete babies whose merge is as old as the deletion grace.
_PAST_GRACE = ago("coalesce(nullif(d.tombstone_grace_secs, 0), :grace)")
_IS_REAPABLE = text(f"""
    SELECT EXISTS (
      SELECT FROM registrations r JOIN datasets d ON d.id = r.dataset_id
      WHERE r.dataset_id = :dataset AND r.version > :version AND r.created_at <= {_PAST_GRACE})
""")  # noqa: S608
_BABIES = text("""
    SELECT b.stream_id, b."offset", b.start_ns, b.end_ns, b.size_bytes, b.num_records,
           (extract(epoch FROM b.committed_at) * 1000000)::bigint * 1000, b.dataset_ids
    FROM unnest(cast(:streams AS uuid[]), cast(:afters AS bigint[]), cast(:lasts AS bigint[]))
           WITH ORDINALITY AS cut (stream_id, after, last, place)
         CROSS JOIN LATERAL (
           SELECT * FROM baby_segments
           WHERE stream_id = cut.stream_id AND "offset" > cut.after AND "offset" <= cut.last
             AND (dataset_ids IS NULL OR :dataset = ANY(dataset_ids))
           ORDER BY "offset" LIMIT :most) b
    ORDER BY cut.place, b."offset" LIMIT :most
""")
_MERGED = text(
    "SELECT stream_id, merged_offset FROM stream_datasets"
    " WHERE dataset_id = :dataset AND stream_id = ANY(:streams)"
)


def cut(tx: Transaction, dataset_id: UUID, version: int) -> tuple[int, list[OffsetCut]]:
    """Offsets that are committed now and beyond a version (0 = current); and the version.

    Raises NotFound, or VersionExpired if its history is deleted.
    """
    version, offsets = lineage.offsets_at(tx, dataset_id, version)
    rows = tx.execute(_HEADS, {"streams": list(offsets)})
    cuts = [OffsetCut(row.stream_id, offsets[row.stream_id], row.committed_offset) for row in rows]
    return version, [cut for cut in cuts if cut.after < cut.last]


def check_not_reapable(tx: Transaction, dataset_id: UUID, version: int, grace_secs: float) -> None:
    """Raise VersionExpired if babies beyond the version may be deleted by now."""
    values = {"dataset": dataset_id, "version": version, "grace": grace_secs}
    if tx.execute(_IS_REAPABLE, values).scalar_one():
        raise VersionExpired(
            "babies beyond the version were merged longer ago than the deletion grace",
            version=version,
        )


def read(tx: Transaction, dataset_id: UUID, cuts: Sequence[OffsetCut], most: int) -> list[BabyRow]:
    """Up to `most` babies of the cuts that may hold records of the dataset, in their order.

    Raises VersionExpired for an unstamped baby that is merged: its routing may be forgotten.
    """
    babies: list[BabyRow] = []
    remaining = list(cuts)
    while remaining and len(babies) < most:
        batch, remaining = remaining[:STREAMS_AT_ONCE], remaining[STREAMS_AT_ONCE:]
        values = {
            "streams": [cut.stream_id for cut in batch],
            "afters": [cut.after for cut in batch],
            "lasts": [cut.last for cut in batch],
            "dataset": dataset_id,
            "most": most - len(babies),
        }
        babies += map(make_baby, tx.execute(_BABIES, values).all())
    _check_routing(tx, dataset_id, [baby for baby in babies if baby.dataset_ids is None])
    return babies


def _check_routing(tx: Transaction, dataset_id: UUID, unstamped: Sequence[BabyRow]) -> None:
    if not unstamped:
        return
    streams = list({baby.stream_id for baby in unstamped})
    values = {"dataset": dataset_id, "streams": streams}
    merged = {row.stream_id: row.merged_offset for row in tx.execute(_MERGED, values)}
    for baby in unstamped:
        if baby.offset <= merged.get(baby.stream_id, baby.offset):
            raise VersionExpired(
                "an unstamped baby beyond the version is merged, its routing may be forgotten",
                stream_id=baby.stream_id,
                offset=baby.offset,
            )
