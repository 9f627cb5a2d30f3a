"""A part of a registration: what one feature locks, checks and writes with the segments."""

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar

from meta.store.engine.pool import Transaction
from meta.store.registration.calls import BatchCall, Merge


class Part:
    """One part of one batch; the core makes it, and calls each function once.

    The order: `lock`, the core's own checks, `check`, `write`, the version. A part reads of a
    dataset's row only its `COLUMNS`, which come with the core's locking statement. `check` sets
    the answer of calls that are open, and writes nothing; a part that takes something is the last
    to check, so that no other part refuses a call that has taken.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tx: Transaction, calls: Sequence[BatchCall]) -> None:
        self._tx = tx
        self._calls = calls

    @classmethod
    def conflict_keys(cls, merges: Sequence[Merge]) -> Sequence[Sequence[Hashable]]:
        """Return of each call what else it has in common with calls that cannot run beside it.

        A call that has something is registered alone: it would hold up a batch while it waits.
        """
        return [()] * len(merges)

    def lock(self) -> None:
        """Lock its own rows, after those of streams and before the keys of segments."""

    def check(self) -> None:
        """Refuse open calls."""

    def write(self) -> None:
        """Write rows of open calls, and remove what answered calls have brought."""

    @classmethod
    def describe(cls, merge: Merge) -> Mapping[str, object]:  # noqa: ARG003
        """Return what the audit log says of it."""
        return {}
