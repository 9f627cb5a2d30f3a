"""Numbers of a stream's entries and tokens, counted as far as somebody needs to know."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Uuid, bindparam, text

from meta.store.engine.pool import Transaction


@dataclass(frozen=True, slots=True)
class StreamSize:
    """Entries and tokens of a stream, each at most the number asked for; -1 = nothing committed."""

    entries: int
    tokens: int
    committed_offset: int


_READ = text("""
    SELECT (SELECT count(*) FROM (
        SELECT FROM stream_datasets WHERE stream_id = :stream LIMIT :most) e),
      (SELECT count(*) FROM (SELECT FROM stream_tokens WHERE stream_id = :stream LIMIT :most) t),
      coalesce((SELECT committed_offset FROM stream_heads WHERE stream_id = :stream), -1)
""").bindparams(bindparam("stream", type_=Uuid))


def read(tx: Transaction, stream_id: UUID, most: int) -> StreamSize:
    """Count up to `most` entries and tokens; an unknown stream has none."""
    return StreamSize(*tx.execute(_READ, {"stream": stream_id, "most": most}).one())
