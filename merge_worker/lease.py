"""The lease of a claimed merge task, renewed by heartbeats while the task runs."""

import threading
import time
from collections.abc import Callable
from typing import Self

import structlog

from meta.client import MetaClient
from meta.errors import MetaError, NotFound
from meta.v1.janitor_pb2 import UnclaimMergeTaskRequest
from meta.v1.operations_pb2 import HeartbeatMergeTaskRequest

log = structlog.get_logger()
_HEARTBEATS_PER_LEASE = 3
# The minimum time since the last heartbeat after which meta unclaims a task on request.
_UNCLAIM_SECS = 1


class Lease:
    """Renews a task's lease from enter to exit, with a heartbeat every third of the lease.

    Each heartbeat reports `rows_done`. `on_lost` is called at most once, when meta says that the
    claim is another worker's.
    """

    def __init__(
        self,
        meta: MetaClient,
        task_id: str,
        attempt: int,
        lease_secs: float,
        on_lost: Callable[[], None],
        rows_done: Callable[[], int],
    ) -> None:
        self._meta = meta
        self._request = HeartbeatMergeTaskRequest(task_id=task_id, attempt=attempt)
        self._lease_secs = lease_secs
        self._on_lost = on_lost
        self._rows_done = rows_done
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"lease-{task_id}", daemon=True)
        self.is_lost = False
        self._renewed_at = float("-inf")

    @property
    def is_renewed(self) -> bool:
        """Whether meta has confirmed a heartbeat: the lease is a short one from then on."""
        return self._renewed_at > float("-inf")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def release(self) -> bool:
        """Unclaim the task after exit; false if it stays claimed until the lease expires.

        Unlike a failure, a release adds no back-off and blames no input.
        """
        age_secs = time.monotonic() - self._renewed_at
        if age_secs >= self._lease_secs:
            # Without a lease in force, the claim may be another worker's.
            return False
        time.sleep(max(0.0, _UNCLAIM_SECS - age_secs))
        request = UnclaimMergeTaskRequest(
            task_id=self._request.task_id, min_claimed_secs=_UNCLAIM_SECS
        )
        try:
            return self._meta.janitor.UnclaimMergeTask(request, timeout=_UNCLAIM_SECS).unclaimed
        except MetaError as error:
            log.warning("merge_give_back_failed", reason=error.reason, error=error.message)
            return False

    def _run(self) -> None:
        # The first heartbeat is sent at once: it shortens the lease from an hour to a minute, so
        # that the task of a worker that dies is claimed again soon.
        while self._renew():
            if self._stop.wait(max(0.1, self._lease_secs / _HEARTBEATS_PER_LEASE)):
                return

    def _renew(self) -> bool:
        """Send one heartbeat; false if no further one can renew the lease."""
        self._request.rows_done = self._rows_done()
        if self._request.rows_done:
            log.info(
                "merge_progress",
                task_id=self._request.task_id,
                rows_done=self._request.rows_done,
            )
        try:
            reply = self._meta.operations.HeartbeatMergeTask(
                self._request, timeout=max(1.0, self._lease_secs / _HEARTBEATS_PER_LEASE)
            )
        except NotFound:
            return self._lose("the task is unknown")
        except MetaError as error:
            # If the lease expires first, meta refuses the completion by the attempt's prefix.
            log.warning(
                "merge_heartbeat_failed", task_id=self._request.task_id, error=error.message
            )
            return True
        if not reply.still_yours:
            return self._lose("the claim went to another worker")
        self._renewed_at = time.monotonic()
        self._lease_secs = reply.lease_secs or self._lease_secs
        return True

    def _lose(self, cause: str) -> bool:
        self.is_lost = True
        log.info("merge_claim_lost", task_id=self._request.task_id, why=cause)
        self._on_lost()
        return False
