"""An object store whose clock is off."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from segments.store.interface import ObjectInfo, ObjectStore


@dataclass(frozen=True, slots=True)
class SkewedStore:
    """A store that states all of its times `skew_nanos` later."""

    store: ObjectStore
    skew_nanos: int

    def now_nanos(self) -> int:
        """The wrong clock."""
        return self.store.now_nanos() + self.skew_nanos

    def head(self, key: str) -> ObjectInfo:
        """An object's facts by the wrong clock."""
        return self._skewed(self.store.head(key))

    def list(self, prefix: str, start_after: str = "") -> Iterator[ObjectInfo]:
        """A listing by the wrong clock."""
        return map(self._skewed, self.store.list(prefix, start_after))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def _skewed(self, info: ObjectInfo) -> ObjectInfo:
        return replace(info, modified_at_nanos=info.modified_at_nanos + self.skew_nanos)
