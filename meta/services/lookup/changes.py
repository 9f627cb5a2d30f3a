"""Changes of a dataset, as a stream and as a call that waits."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import NamedTuple

from meta.errors import NotFound, Overloaded, ReplyTooLarge
from meta.services.messages import checks, convert
from meta.services.messages.convert import REPLY_BYTES_MAX
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.catalog import dataset_layouts
from meta.store.catalog.dataset_layouts import PromotedColumnRow
from meta.store.engine.pool import Transaction
from meta.store.lookup import changes
from meta.store.lookup.changes import ChangeBatch, SegmentChange, WatchedDataset
from meta.store.versions import versions
from meta.v1 import operations_pb2 as pb

PAGE_DEFAULT = 1_000
PAGE_MAX = 5_000
WAIT_SECS_MAX = 20


async def list_dataset_changes(
    server: ServerParts, request: pb.ListDatasetChangesRequest
) -> pb.ListDatasetChangesResponse:
    """Read changes of later versions; wait for the first one if there is none."""
    name = checks.name(request.dataset_name, "dataset_name")
    since = checks.count(request.since_version, "since_version")
    most = checks.limit(request.limit, default=PAGE_DEFAULT, most=PAGE_MAX)
    wait_secs = min(checks.count(request.wait_secs, "wait_secs"), WAIT_SECS_MAX)
    deadline = time.monotonic() + wait_secs
    while True:
        read = await _read_changes(server, name, since, most, with_columns=request.with_columns)
        left_secs = deadline - time.monotonic()
        if (
            read.batch.changes
            or left_secs <= 0
            or not await _wait_for_change(server, read.dataset, left_secs)
        ):
            return await asyncio.to_thread(_changes_reply, server, read)
        since = read.batch.through


async def watch_dataset(
    server: ServerParts, request: pb.WatchDatasetRequest
) -> AsyncIterator[pb.WatchDatasetResponse]:
    """Send changes of later versions as they happen, and heartbeats between them."""
    name = checks.name(request.dataset_name, "dataset_name")
    since = checks.count(request.since_version, "since_version")
    with server.feed.place():
        dataset, batch, current, _ = await _read_changes(server, name, since, PAGE_DEFAULT)
        while batch.through < current:
            for message in await _change_messages(server, batch, since):
                yield message
            since = batch.through
            key = dataset.key
            dataset, batch, current, _ = await _read_changes(server, name, since, PAGE_DEFAULT)
            if dataset.key != key:
                raise NotFound("the dataset was deleted", dataset_name=name)
        # There is at least one message, which shows the reader that it is up to date.
        for message in await _change_messages(server, batch, since):
            yield message
        async for message in _live_changes(server, name, dataset):
            yield message


async def _live_changes(
    server: ServerParts, name: str, dataset: WatchedDataset
) -> AsyncIterator[pb.WatchDatasetResponse]:
    """Send the feed's changes, from the version of the dataset on."""
    position = dataset.since
    watcher = server.feed.subscribe(dataset)
    try:
        # The feed may have gone on since the last read.
        while position < watcher.position_at_start:
            _, batch, *_ = await _read_changes(server, name, position, PAGE_DEFAULT)
            for message in await _change_messages(server, batch, position):
                yield message
            position = batch.through
        while True:
            queued = await watcher.next(server.settings.lifetimes.watch_heartbeat)
            if queued is None:
                position = max(position, watcher.position)
                yield pb.WatchDatasetResponse(through_version=position)
                continue
            fresh = tuple(change for change in queued.changes if change.version > position)
            if fresh:
                for message in await _change_messages(
                    server, ChangeBatch(fresh, queued.through), position
                ):
                    yield message
            position = max(position, queued.through)
    finally:
        server.feed.unsubscribe(dataset, watcher)


class _ReadChanges(NamedTuple):
    """The dataset as of the batch's end, a batch, the current version and its columns."""

    dataset: WatchedDataset
    batch: ChangeBatch
    current: int
    columns: Sequence[PromotedColumnRow]


async def _read_changes(
    server: ServerParts, name: str, since: int, most: int, *, with_columns: bool = False
) -> _ReadChanges:
    def work(tx: Transaction) -> _ReadChanges:
        current = int(versions.current(tx))
        dataset = changes.resolve(tx, name, since)
        batch = changes.read(tx, [dataset], current, most)[dataset.key]
        columns: Sequence[PromotedColumnRow] = ()
        if with_columns:
            columns = dataset_layouts.read(tx, [dataset.id])[dataset.id].promoted_columns
        watched = WatchedDataset(dataset.key, dataset.id, batch.through)
        return _ReadChanges(watched, batch, current, columns)

    return await asyncio.to_thread(server.transactions.read, work)


async def _wait_for_change(server: ServerParts, dataset: WatchedDataset, wait_secs: float) -> bool:
    """Wait for a change; False if there is none in time, or no place to wait."""
    try:
        with server.feed.place():
            watcher = server.feed.subscribe(dataset)
            try:
                is_behind = watcher.position_at_start > dataset.since
                return is_behind or await watcher.next(wait_secs) is not None
            finally:
                server.feed.unsubscribe(dataset, watcher)
    except Overloaded:
        return False


def _changes_reply(server: ServerParts, read: _ReadChanges) -> pb.ListDatasetChangesResponse:
    reply = pb.ListDatasetChangesResponse(
        changes=_change_infos(server, read.batch.changes),
        through_version=read.batch.through,
        current_version=read.current,
        dataset_id=str(read.dataset.id),
        promoted_columns=convert.promoted_messages(read.columns),
    )
    if reply.ByteSize() > REPLY_BYTES_MAX:
        raise ReplyTooLarge(f"{len(read.batch.changes)} changes: ask for less, or use WatchDataset")
    return reply


async def _change_messages(
    server: ServerParts, batch: ChangeBatch, since: int
) -> Sequence[pb.WatchDatasetResponse]:
    return await asyncio.to_thread(lambda: list(_split_changes(server, batch, since)))


def _split_changes(
    server: ServerParts, batch: ChangeBatch, since: int
) -> Iterator[pb.WatchDatasetResponse]:
    """Messages of bounded size; only the last one is the end of a version."""
    message, size_bytes = pb.WatchDatasetResponse(through_version=since), 0
    for change in _change_infos(server, batch.changes):
        size_bytes += change.ByteSize() + 8
        if size_bytes > REPLY_BYTES_MAX and message.changes:
            yield message
            message = pb.WatchDatasetResponse(through_version=since)
            size_bytes = change.ByteSize() + 8
        message.changes.append(change)
    message.through_version = batch.through
    yield message


def _change_infos(server: ServerParts, rows: Sequence[SegmentChange]) -> list[pb.DatasetChange]:
    stores = server.settings.stores
    return [
        filled(pb.DatasetChange, row, segment=convert.segment_info(stores, row.segment))
        for row in rows
    ]
