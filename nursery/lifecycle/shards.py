"""The shards of streams that this nursery merges, leased from meta."""

import threading
from collections.abc import Callable
from typing import Protocol

import structlog

from dataplane.stream_poll import Shards
from meta.client import MetaClient
from meta.errors import MetaError
from meta.v1.operations_pb2 import LeaseNurseryShardsRequest, LeaseNurseryShardsResponse
from nursery import metrics

log = structlog.get_logger()
# Renewals during a lease.
_RENEWALS = 3
# A cycle that takes longer has most likely hung: its shards are left to others.
_RENEWED_SECS_MAX = 1_800.0


class ShardSource(Protocol):
    """Gives a nursery its shards."""

    def acquire(self) -> Shards:
        """The shards to merge in the next cycle; raises MetaError."""
        ...

    def release(self) -> None:
        """Give the shards back."""
        ...


class LeasedShards:
    """Shards that meta assigns, renewed by a thread while a cycle runs."""

    def __init__(self, client: MetaClient, nursery_id: str, monotonic: Callable[[], float]) -> None:
        self._client = client
        self._nursery_id = nursery_id
        self._monotonic = monotonic
        self._shards: Shards | None = None
        self._acquired_at = float("-inf")
        self._lease_secs = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self) -> Shards:
        """The shards to merge in the next cycle; raises MetaError."""
        is_fresh = self._monotonic() - self._acquired_at < self._lease_secs / _RENEWALS
        if self._shards is None or not self._shards.indexes or not is_fresh:
            self._set(self._assigned())
        assert self._shards is not None
        return self._shards

    def release(self) -> None:
        """Give the shards back, so that others need not wait for the lease to expire."""
        self._stop.set()
        if self._thread is None:
            return
        self._thread.join()
        try:
            self._call(leave=True)
        except MetaError as error:
            log.warning("shards_not_released", error=str(error))

    def _assigned(self) -> Shards:
        reply = self._call()
        self._lease_secs = reply.lease_secs
        if self._thread is None:
            self._thread = threading.Thread(target=self._renew, name="shard-lease", daemon=True)
            self._thread.start()
        return Shards(tuple(reply.shard_indexes), reply.shard_count)

    def _set(self, shards: Shards) -> None:
        self._acquired_at = self._monotonic()
        if shards != self._shards:
            log.info("shards_assigned", shards=len(shards.indexes), shard_count=shards.count)
            metrics.NURSERY_SHARDS.set(len(shards.indexes))
        self._shards = shards

    def _renew(self) -> None:
        while not self._stop.wait(self._lease_secs / _RENEWALS):
            busy_secs = self._monotonic() - self._acquired_at
            # Short cycles renew the lease themselves, so this thread has nothing to do.
            if busy_secs < self._lease_secs / _RENEWALS or busy_secs > _RENEWED_SECS_MAX:
                continue
            try:
                self._call(renew_only=True)
            except MetaError as error:
                log.warning("shard_lease_not_renewed", error=str(error))

    def _call(self, *, renew_only: bool = False, leave: bool = False) -> LeaseNurseryShardsResponse:
        request = LeaseNurseryShardsRequest(
            nursery_id=self._nursery_id, renew_only=renew_only, leave=leave
        )
        return self._client.operations.LeaseNurseryShards(request)
