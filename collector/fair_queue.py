"""Fair queue over ingest tokens: deficit round robin by bytes."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

# Bytes that a token may take in its turn; less makes more turns, more lets others wait longer.
QUANTUM_BYTES = 1024 * 1024


@dataclass(slots=True)
class _Lane(Generic[T]):
    items: deque[tuple[T, int]] = field(default_factory=deque)
    deficit_bytes: int = 0


@dataclass(slots=True)
class FairQueue(Generic[T]):
    """Items of each token in order of arrival; tokens share the bytes taken equally."""

    _lanes: OrderedDict[str, _Lane[T]] = field(default_factory=OrderedDict)

    def __bool__(self) -> bool:
        return bool(self._lanes)

    @property
    def num_tokens(self) -> int:
        """Tokens that have items in the queue."""
        return len(self._lanes)

    def push(self, token_id: str, item: T, size_bytes: int) -> None:
        """Add an item to its token's lane."""
        lane = self._lanes.get(token_id)
        if lane is None:
            lane = self._lanes[token_id] = _Lane()
        lane.items.append((item, size_bytes))

    def next_token(self) -> str:
        """Return the token whose item `pop` takes; the queue must not be empty."""
        while True:
            token_id, lane = next(iter(self._lanes.items()))
            if len(self._lanes) == 1 or lane.items[0][1] <= lane.deficit_bytes:
                return token_id
            lane.deficit_bytes += QUANTUM_BYTES
            self._lanes.move_to_end(token_id)

    def pop(self) -> T:
        """Take the next item; the queue must not be empty."""
        token_id = self.next_token()
        lane = self._lanes[token_id]
        item, size_bytes = lane.items.popleft()
        lane.deficit_bytes = max(0, lane.deficit_bytes - size_bytes)
        if not lane.items:
            del self._lanes[token_id]
        return item
