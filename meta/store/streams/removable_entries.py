"""Entries that may be removed: drained ones that no token of their stream routes to.

Nothing says when an entry comes to be one, so the entries of a drained stream are examined some at
a time, in the order of their datasets and then from the first one again. Each poll of a stream
costs the same, however many entries it has.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction

EXAMINED_MAX = 500
_POSITIONS_MAX = 10_000
_NIL = UUID(int=0)
_IS_ROUTED = " OR ".join(
    f"""EXISTS (SELECT FROM ingest_tokens i JOIN stream_tokens t
        ON t.token_id = i.id AND t.stream_id = e.stream_id
      WHERE i.{signal}_dataset_id = e.dataset_id AND i.revoked_at IS NULL)"""
    for signal in ("logs", "traces", "metrics")
)
_EXAMINE = text(f"""
    SELECT s.id, count(*), max(e.dataset_id::text),
      array_agg(e.dataset_id) FILTER (WHERE s.stopped_offset IS NOT NULL OR NOT ({_IS_ROUTED}))
    FROM unnest(cast(:streams AS uuid[]), cast(:positions AS uuid[])) AS k (id, position)
      JOIN ingest_streams s ON s.id = k.id
      JOIN stream_heads h ON h.stream_id = s.id AND h.committed_offset = s.deleted_offset
      CROSS JOIN LATERAL (
        SELECT stream_id, dataset_id FROM stream_datasets
        WHERE stream_id = k.id AND dataset_id > k.position ORDER BY dataset_id LIMIT :most) e
    GROUP BY s.id
""")  # noqa: S608

Key = tuple[UUID, UUID]


@dataclass(slots=True)
class RemovableEntries:
    """Examines entries; keeps the last one of each stream with more of them than one poll takes.

    A position that is lost, or that another server has not, only delays a removal.
    """

    examined_max: int = EXAMINED_MAX
    _positions: dict[UUID, UUID] = field(default_factory=dict)

    def find(self, tx: Transaction, stream_ids: Iterable[UUID]) -> list[Key]:
        """The removable ones among the next entries of drained streams."""
        ids = list(stream_ids)
        values = {
            "streams": ids,
            "positions": [self._positions.get(stream_id, _NIL) for stream_id in ids],
            "most": self.examined_max,
        }
        keys: list[Key] = []
        positions: dict[UUID, UUID] = {}
        for stream_id, examined, last, removable in tx.execute(_EXAMINE, values):
            keys += [(stream_id, dataset_id) for dataset_id in removable or ()]
            if examined == self.examined_max:
                positions[stream_id] = UUID(last)
        if len(self._positions) >= _POSITIONS_MAX:
            self._positions.clear()
        for stream_id in ids:
            # One without a position starts again.
            self._positions.pop(stream_id, None)
        self._positions.update(positions)
        return keys
