"""The Postgres server that answers, as its machine knows it."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction

_ANSWERING = text("""
    SELECT pg_backend_pid(),
      cast(extract(epoch FROM pg_postmaster_start_time()) * 1000000 AS bigint)
""")


@dataclass(frozen=True, slots=True)
class AnsweringServer:
    """A server, and its process that answered."""

    backend_id: int
    started_at_micros: int

    @property
    def reporter(self) -> UUID:
        """The id of this start of it among those that report costs."""
        return UUID(int=self.started_at_micros)


def answering(tx: Transaction) -> AnsweringServer:
    """Return the server that answers now."""
    return AnsweringServer(*tx.execute(_ANSWERING).one())
