"""The statements that SQLAlchemy has compiled, shared by the pools of a process."""

from collections.abc import Hashable
from typing import Any

from sqlalchemy.util import LRUCache

STATEMENTS_MAX = 1000


class CompiledStatements(dict[Hashable, Any]):
    """A cache for pools with one driver and the same options, least recently used.

    SQLAlchemy's own cache belongs to an engine: its keys begin with the engine's dialect. A meta
    has two pools, its own and the witness's, and would compile the statements of both twice. All
    pools of meta are made in one place, so their dialects compile a statement to the same text.
    """

    def __init__(self) -> None:
        super().__init__()
        self._statements: LRUCache[Hashable, Any] = LRUCache(STATEMENTS_MAX)

    def get(self, key: Any, default: Any = None) -> Any:
        """The compiled statement of a key, without the dialect in it."""
        return self._statements.get(key[1:], default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        """Keep a compiled statement."""
        self._statements[key[1:]] = compiled
