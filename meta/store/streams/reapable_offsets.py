"""The offset up to which the babies of a stream may be deleted.

A baby may be reaped once each entry that it may be of has a checkpoint at or beyond it that is
older than its dataset's grace, or began there. So entries that receive nothing hold back nothing.
Of a backlog a page at a time is reapable, so that a poll reads a bounded number of rows.
"""

from meta.store.streams import merged_offsets
from meta.store.versions.clock import ago

BABIES_AT_ONCE = 2_000
_GRACE = (
    "(SELECT coalesce(nullif(d.tombstone_grace_secs, 0), :grace) FROM datasets d"
    " WHERE d.id = e.dataset_id)"
)
_IS_KEPT = f"""coalesce((SELECT c.stream_offset FROM offset_checkpoints c
    WHERE c.stream_id = e.stream_id AND c.dataset_id = e.dataset_id
      AND c.created_at <= {ago(_GRACE)}
    ORDER BY c.created_at DESC LIMIT 1), e.base_offset) < b."offset\""""  # noqa: S608
_UNREAPED = 'FROM baby_segments WHERE stream_id = s.id AND "offset" > s.deleted_offset'
_FIRST_KEPT = f"""(SELECT b."offset" FROM (
    SELECT * {_UNREAPED} ORDER BY "offset" LIMIT {BABIES_AT_ONCE}) b
  WHERE {merged_offsets.awaited_by(_IS_KEPT)} ORDER BY b."offset" LIMIT 1)"""  # noqa: S608
_LAST_OF_PAGE = f"""(SELECT "offset" {_UNREAPED}
  ORDER BY "offset" OFFSET {BABIES_AT_ONCE} - 1 LIMIT 1)"""
# The reapable offset of stream `s`, with `:grace` as the default; null = all that is committed.
REAPABLE = f"coalesce({_FIRST_KEPT} - 1, {_LAST_OF_PAGE})"
