"""A bounded cache of what was kept last; safe for many threads."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class RecentValues(Generic[Key, Value]):
    """At most so many values by their keys; the one that was kept longest ago goes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Key) -> Value | None:
        """Return a value, None if it is not kept."""
        with self._lock:
            return self._values.get(key)

    def keep(self, key: Key, value: Value) -> None:
        """Keep a value in place of an earlier one."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._most:
                self._values.popitem(last=False)

    def forget(self, key: Key) -> None:
        """Keep no value for a key."""
        with self._lock:
            self._values.pop(key, None)
