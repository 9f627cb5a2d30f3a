"""Segments that new versions add to datasets, read once a second for all who follow a dataset.

    followers with equal rights --> one feed --> ListDatasetChanges, at most once a second

A feed begins with its first follower and ends with its last one.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import structlog
from anyio import CapacityLimiter, to_thread

from meta.client import MetaClient
from meta.errors import InvalidArgument, MetaError, NotFound, RoleRefused, VersionExpired
from meta.v1 import common_pb2, resources_pb2
from meta.v1 import operations_pb2 as ops
from segments.signals import SIGNALS
from segplane.gateway.console.viewer import Viewer
from segplane.gateway.http import metrics
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.failures import failure_of
from segplane.gateway.http.refusals import Broken, Busy, NotThere, QueryRefusal
from segplane.gateway.queries.added_files import LiveFiles
from segplane.health.freshness import read_freshness
from segplane.read.files.files import DatasetFile, file_of

READ_SECS = 1.0
# Reads between two of the freshness.
FRESHNESS_READS = 5
# Segments that a feed remembers for followers that are slower than it.
KEPT_FILES_MAX = 1_000
# Of one gateway.
FEEDS_MAX = 128
_CHANGES_MAX = 1_000
_CALL_SECS = 10.0
_THREADS = 8
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class AddedSegments:
    """Segments of the versions after one, through another; `is_cut` = some of them are missing."""

    files: Sequence[DatasetFile]
    through: int
    is_cut: bool


@dataclass(frozen=True, slots=True)
class FeedReply:
    """Answer of meta to one read: changes, and the freshness if it was asked for, or an error."""

    changes: ops.ListDatasetChangesResponse = field(default_factory=ops.ListDatasetChangesResponse)
    freshness: str | None = None
    error: MetaError | None = None


class LiveFeed:
    """Segments that the versions of one dataset add; merges are none of them.

    `version` is the one through which changes were read, 0 = none yet. `refusal` is why the dataset
    cannot be followed, or not now.
    """

    def __init__(self, name: str, since: int, connect: Callable[[Caller], MetaClient]) -> None:
        self.name = name
        self.version = 0
        self.freshness = ""
        self.refusal: QueryRefusal | None = None
        self.callers: list[Caller] = []
        # Set and replaced by each read that brings something new.
        self.news = asyncio.Event()
        self._since = since
        self._connect = connect
        self._files: deque[tuple[int, DatasetFile]] = deque()
        # Segments of this version and earlier ones are not all remembered.
        self._cut_through = since
        self._dataset_id = ""
        self._promoted: tuple[common_pb2.PromotedColumn, ...] = ()
        self._client: tuple[Caller, MetaClient] | None = None

    def added_since(self, version: int) -> AddedSegments:
        """Return what the versions after one have added so far."""
        files = [file for added_at, file in self._files if added_at > version]
        return AddedSegments(files, self.version, version < self._cut_through)

    def opened(self, files: Sequence[DatasetFile]) -> LiveFiles:
        """Return some of the segments as a query reads them."""
        return LiveFiles(self.name, self._dataset_id, self.version, tuple(files), self._promoted)

    async def run(self, threads: CapacityLimiter) -> None:
        """Read until it is cancelled."""
        reads = 0
        try:
            while True:
                began = time.monotonic()
                await self._read(threads, has_freshness=reads % FRESHNESS_READS == 0)
                reads += 1
                await asyncio.sleep(max(0.0, began + READ_SECS - time.monotonic()))
        finally:
            self._close()

    async def _read(self, threads: CapacityLimiter, *, has_freshness: bool) -> None:
        before = self._state()
        client = self._client_of(self.callers[0])
        ask = partial(self.ask, client, has_freshness=has_freshness)
        try:
            self.take(await to_thread.run_sync(ask, limiter=threads, abandon_on_cancel=True))
        except Exception:
            log.exception("live_read_failed")
            self.refusal = Broken("the gateway made a mistake: its log says more")
        if before != self._state():
            self.news.set()
            self.news = asyncio.Event()

    def _state(self) -> tuple[object, ...]:
        return self.version, self.freshness, str(self.refusal or ""), len(self._files)

    def ask(self, client: MetaClient, *, has_freshness: bool = False) -> FeedReply:
        """Ask meta for the changes since the last reply that was taken; in a thread."""
        try:
            changes = self._changes(client)
            freshness = _freshness(client, self.name) if has_freshness else None
        except MetaError as error:
            return FeedReply(error=error)
        return FeedReply(changes, freshness)

    def take(self, reply: FeedReply) -> None:
        """Take meta's reply; on the event loop."""
        if reply.error is not None:
            # The credential of another follower may hold.
            self.callers[:] = [*self.callers[1:], *self.callers[:1]]
            self._fail(reply.error)
            return
        self._take(reply.changes)
        self.refusal = None
        if reply.freshness is not None:
            self.freshness = reply.freshness

    def _changes(self, client: MetaClient) -> ops.ListDatasetChangesResponse:
        """Read the changes since the version that was read before, or the current version."""
        if not (self.version or self._since):
            numbers = resources_pb2.GetDatasetNumbersRequest(name=self.name)
            version = client.resources.GetDatasetNumbers(numbers, timeout=_CALL_SECS).version
            return ops.ListDatasetChangesResponse(through_version=version, current_version=version)
        request = ops.ListDatasetChangesRequest(
            dataset_name=self.name,
            since_version=self.version or self._since,
            limit=_CHANGES_MAX,
            with_columns=True,
        )
        return client.operations.ListDatasetChanges(request, timeout=_CALL_SECS)

    def _take(self, reply: ops.ListDatasetChangesResponse) -> None:
        if reply.dataset_id and self._dataset_id not in ("", reply.dataset_id):
            # Another dataset has the name now: nothing of the old one is read any more.
            self._files.clear()
            self._cut_through = reply.current_version
        if reply.dataset_id:
            self._dataset_id = reply.dataset_id
            self._promoted = tuple(reply.promoted_columns)
        else:
            self._cut_through = reply.current_version
        for change in reply.changes:
            if change.is_removed or change.is_merge:
                continue
            file = file_of(change.segment, (), SIGNALS)
            if file.may_have("logs"):
                self._files.append((change.version, file))
        while len(self._files) > KEPT_FILES_MAX:
            self._cut_through = max(self._cut_through, self._files.popleft()[0])
        # A person sees what is new now, not what a whole day has brought meanwhile.
        if reply.through_version < reply.current_version:
            self._cut_through = reply.current_version
        self.version = reply.current_version

    def _fail(self, error: MetaError) -> None:
        if isinstance(error, VersionExpired | InvalidArgument) and (self.version or self._since):
            # The changes since then are forgotten, or the database is older than the version.
            self._files.clear()
            self.version = self._since = self._cut_through = 0
            return
        if isinstance(error, NotFound):
            self.refusal = NotThere(f"there is no dataset {self.name[:80]!r}; views have none")
            return
        if not isinstance(error, RoleRefused):
            log.warning("live_read_refused", error=str(error))
        self.refusal = failure_of(error) or QueryRefusal(str(error))

    def _client_of(self, caller: Caller) -> MetaClient:
        """Return the client of the follower whose token is used now."""
        if self._client is None or self._client[0] != caller:
            self._close()
            self._client = caller, self._connect(caller)
        return self._client[1]

    def _close(self) -> None:
        if self._client is not None:
            self._client[1].close()
            self._client = None


class LiveFeeds:
    """Feeds by dataset and rights; used on the event loop."""

    def __init__(self, connect: Callable[[Caller], MetaClient]) -> None:
        self._connect = connect
        self._threads = CapacityLimiter(_THREADS)
        self._feeds: dict[Hashable, tuple[LiveFeed, asyncio.Task[None]]] = {}

    @asynccontextmanager
    async def followed(self, viewer: Viewer, name: str, since: int) -> AsyncIterator[LiveFeed]:
        """Follow a dataset with a viewer's rights, from a version on; 0 = from now on.

        Raises Busy.
        """
        key = name, viewer.shared_rights
        if key not in self._feeds:
            if len(self._feeds) >= FEEDS_MAX:
                raise Busy(f"this gateway follows {FEEDS_MAX} datasets, which is the most")
            feed = LiveFeed(name, since, self._connect)
            feed.callers.append(viewer.caller)
            self._feeds[key] = feed, asyncio.create_task(feed.run(self._threads))
            metrics.LIVE_FEEDS.inc()
        else:
            self._feeds[key][0].callers.append(viewer.caller)
        feed, task = self._feeds[key]
        try:
            yield feed
        finally:
            feed.callers.remove(viewer.caller)
            if not feed.callers:
                del self._feeds[key]
                metrics.LIVE_FEEDS.dec()
                task.cancel()


def _freshness(client: MetaClient, name: str) -> str:
    """Return how far readers are behind the dataset's collectors, "" if the role is not told."""
    try:
        return read_freshness(client, name, 1, include_fresh=True).headline
    except RoleRefused:
        return ""
