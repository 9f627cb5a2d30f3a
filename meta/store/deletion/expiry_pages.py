"""Pages over all rows of a kind, one a run, for rules of expiry that go through them."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import TextClause

from meta.store.engine.pool import Transaction

_FIRST_ID = UUID(int=0)


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
