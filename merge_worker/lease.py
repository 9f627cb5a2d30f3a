"""Keeps a claim alive: beats while a merge task runs, and says when it is no longer ours."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import structlog

from meta.client import MetaClient
from meta.errors import MetaError, NotFound, Unimplemented
from meta.v1.janitor_pb2 import UnclaimMergeTaskRequest
from meta.v1.operations_pb2 import HeartbeatMergeTaskRequest

log = structlog.get_logger()
_BEATS_PER_LEASE = 3
# The least silence after which meta takes a claim back when it is asked to.
_SILENCE_SECS = 1


class Heart:
    """Beats from enter to exit, every third of the lease; `on_lost` is called once, if ever.

    Each beat tells meta and the log what `rows_done` says.
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
        self._thread = threading.Thread(target=self._run, name=f"heart-{task_id}", daemon=True)
        self.is_lost = False
        self._beaten_at = float("-inf")

    @property
    def has_beaten(self) -> bool:
        """Whether meta has heard of us: from then on the lease is a short one."""
        return self._beaten_at > float("-inf")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def give_back(self) -> bool:
        """Free the task at once, once the heart has stopped; false: its lease has to pass.

        Unlike a failure it costs the task no back-off and counts against no input.
        """
        time.sleep(max(0.0, self._beaten_at + _SILENCE_SECS - time.monotonic()))
        request = UnclaimMergeTaskRequest(
            task_id=self._request.task_id, min_claimed_secs=_SILENCE_SECS
        )
        try:
            return self._meta.janitor.UnclaimMergeTask(request, timeout=_SILENCE_SECS).unclaimed
        except MetaError as error:
            log.warning("merge_give_back_failed", reason=error.reason, error=error.message)
            return False

    def _run(self) -> None:
        # The first beat comes at once: it shortens the claim's lease from an hour to a minute, so
        # that the task of a worker that dies is soon free.
        while True:
            if not self._beat():
                return
            if self._stop.wait(max(0.1, self._lease_secs / _BEATS_PER_LEASE)):
                return

    def _beat(self) -> bool:
        """Beat once; false when there is nothing left to beat for."""
        self._request.rows_done = self._rows_done()
        if self._request.rows_done:
            log.info(
                "merge_progress",
                task_id=self._request.task_id,
                rows_done=self._request.rows_done,
            )
        try:
            reply = self._meta.operations.HeartbeatMergeTask(
                self._request, timeout=max(1.0, self._lease_secs / _BEATS_PER_LEASE)
            )
        except Unimplemented:
            return False
        except NotFound:
            return self._lose("the task is unknown")
        except MetaError as error:
            # The lease may pass meanwhile; the fence at completion then tells.
            log.warning(
                "merge_heartbeat_failed", task_id=self._request.task_id, error=error.message
            )
            return True
        if not reply.still_yours:
            return self._lose("the claim went to another worker")
        self._beaten_at = time.monotonic()
        self._lease_secs = reply.lease_secs or self._lease_secs
        return True

    def _lose(self, why: str) -> bool:
        self.is_lost = True
        log.info("merge_claim_lost", task_id=self._request.task_id, why=why)
        self._on_lost()
        return False
