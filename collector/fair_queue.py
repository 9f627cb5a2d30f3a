"""Fair queue over ingest tokens: deficit round robin by bytes.

All tokens of a tenant have the part of one, and share it in the same way.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

# Bytes that a lane may take in its turn; less makes more turns, more lets others wait longer.
QUANTUM_BYTES = 1024 * 1024


class Sender(NamedTuple):
    """An ingest token, and the tenant whose tokens have a lane together; "" = its own lane."""

    token_id: str
    tenant_id: str = ""


@dataclass(slots=True)
class _Lane(Generic[T]):
    """Items of one token, or of the tokens of a tenant."""

    tokens: "FairQueue[T] | None" = None
    items: deque[tuple[T, int]] = field(default_factory=deque)
    deficit_bytes: int = 0


@dataclass(slots=True)
class FairQueue(Generic[T]):
    """Items of each token in order of arrival; tokens and tenants share the bytes taken equally."""

    _lanes: OrderedDict[str, _Lane[T]] = field(default_factory=OrderedDict)

    def __bool__(self) -> bool:
        return bool(self._lanes)

    @property
    def num_lanes(self) -> int:
        """Tokens, those of a tenant together, that have items in the queue."""
        return len(self._lanes)

    def push(self, sender: Sender, item: T, size_bytes: int) -> None:
        """Add an item to its sender's lane."""
        token_id, tenant_id = sender
        lane = self._lanes.get(tenant_id or token_id)
        if lane is None:
            lane = self._lanes[tenant_id or token_id] = _Lane(FairQueue() if tenant_id else None)
        if lane.tokens is None:
            lane.items.append((item, size_bytes))
        else:
            lane.tokens.push(Sender(token_id), item, size_bytes)

    def next_token(self) -> str:
        """Return the token whose item `pop` takes; the queue must not be empty."""
        return self._next()[1]

    def pop(self) -> T:
        """Take the next item; the queue must not be empty."""
        key, _, size_bytes = self._next()
        lane = self._lanes[key]
        item = lane.items.popleft()[0] if lane.tokens is None else lane.tokens.pop()
        lane.deficit_bytes = max(0, lane.deficit_bytes - size_bytes)
        if not lane.items and not lane.tokens:
            del self._lanes[key]
        return item

    def _next(self) -> tuple[str, str, int]:
        """The lane whose turn it is, and the token and size of its next item."""
        while True:
            key, lane = next(iter(self._lanes.items()))
            if lane.tokens is None:
                token_id, size_bytes = key, lane.items[0][1]
            else:
                _, token_id, size_bytes = lane.tokens._next()
            if len(self._lanes) == 1 or size_bytes <= lane.deficit_bytes:
                return key, token_id, size_bytes
            lane.deficit_bytes += QUANTUM_BYTES
            self._lanes.move_to_end(key)
