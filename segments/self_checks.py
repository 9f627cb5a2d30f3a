"""Findings of a process about what it uses: its object stores, and what runs its tasks."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import NamedTuple

from segments.errors import ObjectExists, ObjectMissing, StoreError
from segments.location import StoreLocation
from segments.request_counts import count_read, count_writes

# A failure that no use has repeated for so long says nothing about the store of now.
FAILURE_SECS = 3_600.0


class SelfFinding(NamedTuple):
    """Result of a check: its subject, whether it is as it should be, and a few words."""

    name: str
    is_ok: bool
    text: str


class StoreUse(Enum):
    """Kinds of use of a store, each with rights and faults that the others need not have."""

    READ = auto()
    LIST = auto()
    WRITE = auto()
    DELETE = auto()
    ABORT_UPLOADS = auto()


_WRITES = frozenset((StoreUse.WRITE, StoreUse.LIST, StoreUse.ABORT_UPLOADS))


class _Use(NamedTuple):
    """The end of a use by the monotonic clock, and why it failed; "" = the store answered."""

    ended_at: float
    failure: str


# The last use of each kind of each store, of which a process has those that meta names.
_last_uses: dict[tuple[StoreLocation, StoreUse], _Use] = {}


@contextmanager
def store_used(location: StoreLocation, use: StoreUse) -> Iterator[None]:
    """Note whether a use of a store failed; that an object exists or is missing is an answer.

    Errors of other classes say nothing of the store.
    """
    failure = ""
    try:
        yield
    except StoreError as error:
        if not isinstance(error, (ObjectExists, ObjectMissing)):
            failure = str(error)
        _note(location, use, failure)
        raise
    _note(location, use, "")


def _note(location: StoreLocation, use: StoreUse, failure: str) -> None:
    _last_uses[location, use] = _Use(time.monotonic(), failure)
    # Providers charge for answers, not for their failures.
    if use is StoreUse.READ and not failure:
        count_read()
    elif use in _WRITES and not failure:
        count_writes()


def find_store_use() -> SelfFinding | None:
    """Return the last use of the stores; None = there was none.

    A failure comes before other uses, until a use of its kind of the same store succeeds.
    """
    now = time.monotonic()
    uses = [use for use in tuple(_last_uses.values()) if _counts(use, now)]
    if not uses:
        return None
    last = max(uses, key=lambda use: (bool(use.failure), use.ended_at))
    ago = f"{now - last.ended_at:.0f} s ago"
    if last.failure:
        return SelfFinding("store", is_ok=False, text=f"failed {ago}: {last.failure}")
    return SelfFinding("store", is_ok=True, text=f"answered {ago}")


def _counts(use: _Use, now: float) -> bool:
    return not use.failure or now - use.ended_at < FAILURE_SECS
