"""Follows the audit log: each record once, those that are committed late as well."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from meta.v1 import operations_pb2 as pb

PAGE_LIMIT = 1_000
# A change that is committed so long after a later one is skipped; far more than calls take.
MISSING_SECS = 300.0
# The newest ids that may still be committed when the log is first read.
RECENT_IDS = 200
MISSING_MAX = 10_000


class AuditTail:
    """Reads the audit records that were added since the last poll.

    Ids are given in the order in which changes are made, and become visible in the order in which
    these are committed: an id that is skipped is asked for again. `read` lists the records behind
    an id in ascending order, at most `PAGE_LIMIT`.
    """

    def __init__(
        self,
        read: Callable[[int], Sequence[pb.AuditRecord]],
        newest: Sequence[pb.AuditRecord],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin behind `newest`, the last records, in any order."""
        self._read = read
        self._monotonic = monotonic
        # Ids that may still be committed, and when each was first missed.
        self._missing: dict[int, float] = {}
        ids = {record.id for record in newest}
        self._newest_id = max(ids, default=0)
        recent = range(max(1, self._newest_id - RECENT_IDS), self._newest_id)
        self._miss(id for id in recent if id not in ids)

    def is_ahead(self, record_id: int) -> bool:
        """True for a record that a poll may still return."""
        return record_id > self._newest_id or record_id in self._missing

    def poll(self) -> Iterator[pb.AuditRecord]:
        """The records that were committed since the last poll."""
        given_up = self._monotonic() - MISSING_SECS
        self._missing = {id: at for id, at in self._missing.items() if at > given_up}
        after_id = min(self._missing, default=self._newest_id + 1) - 1
        while True:
            page = self._read(after_id)
            for record in page:
                if self._is_new(record.id):
                    yield record
            if len(page) < PAGE_LIMIT:
                return
            after_id = page[-1].id

    def _is_new(self, record_id: int) -> bool:
        if record_id <= self._newest_id:
            return self._missing.pop(record_id, None) is not None
        first = max(self._newest_id + 1, record_id - MISSING_MAX)
        self._newest_id = record_id
        self._miss(range(first, record_id))
        return True

    def _miss(self, ids: Iterable[int]) -> None:
        self._missing |= dict.fromkeys(ids, self._monotonic())
        for oldest in sorted(self._missing)[: max(0, len(self._missing) - MISSING_MAX)]:
            del self._missing[oldest]
