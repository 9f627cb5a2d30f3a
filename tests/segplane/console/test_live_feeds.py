"""Feeds of live views: what they remember, and what they say is missing."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import cast

import pytest
from starlette.requests import Request

from meta.client import MetaClient
from meta.errors import VersionExpired
from meta.v1 import common_pb2, resources_pb2, status_pb2
from meta.v1 import operations_pb2 as ops
from segplane.gateway.console.live.feeds import FEEDS_MAX, KEPT_FILES_MAX, LiveFeed, LiveFeeds
from segplane.gateway.console.live.views import FILES_MAX, LiveReader, ViewEvent, parse_view
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Viewer
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.readers import ALL_DATASETS
from segplane.gateway.http.refusals import Busy
from segplane.gateway.queries.service import QueryService

VIEWER = Viewer(Caller("ada"), "ada", rights=("reader", ALL_DATASETS))


class Catalog:
    """Answers of a catalog, in the place of a client's two services."""

    def __init__(self, *replies: ops.ListDatasetChangesResponse | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[int] = []

    @property
    def operations(self) -> "Catalog":
        return self

    @property
    def resources(self) -> "Catalog":
        return self

    @property
    def status(self) -> "Catalog":
        return self

    def GetDatasetNumbers(  # noqa: N802
        self, _: object, timeout: float
    ) -> resources_pb2.GetDatasetNumbersResponse:
        return resources_pb2.GetDatasetNumbersResponse(version=100)

    def ListFreshness(self, _: object) -> status_pb2.ListFreshnessResponse:  # noqa: N802
        return status_pb2.ListFreshnessResponse()

    def ListDatasetChanges(  # noqa: N802
        self, request: ops.ListDatasetChangesRequest, timeout: float
    ) -> ops.ListDatasetChangesResponse:
        self.asked.append(request.since_version)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def close(self) -> None:
        """Do nothing."""


def segment(version: int) -> common_pb2.SegmentInfo:
    bucket = common_pb2.CloudBucket(provider="file", path="store")
    prefix = common_pb2.CloudObjectPrefix(bucket=bucket, prefix="dataset")
    key = common_pb2.CloudObjectKey(prefix=prefix, key=f"{version}.parquet")
    return common_pb2.SegmentInfo(id=str(version), cloud_object_key=key)


def reply(
    versions: Sequence[int],
    through: int,
    current: int = 0,
    *,
    is_merge: bool = False,
    is_removed: bool = False,
) -> ops.ListDatasetChangesResponse:
    changes = [
        ops.DatasetChange(
            version=version, segment=segment(version), is_merge=is_merge, is_removed=is_removed
        )
        for version in versions
    ]
    return ops.ListDatasetChangesResponse(
        changes=changes,
        through_version=through,
        current_version=current or through,
        dataset_id="d",
    )


def ids(feed: LiveFeed, since: int) -> tuple[list[str], bool]:
    added = feed.added_since(since)
    return [file.segment_id for file in added.files], added.is_cut


def read(feed: LiveFeed, catalog: Catalog) -> None:
    """Read as often as there are replies, and the version before them."""
    client = cast(MetaClient, catalog)
    while catalog.replies:
        feed.take(feed.ask(client))


def feed_of(since: int = 0) -> LiveFeed:
    return LiveFeed("web", since, lambda _: cast(MetaClient, None))


def test_a_feed_begins_now_and_has_added_segments_that_are_no_merges() -> None:
    feed = feed_of()
    catalog = Catalog(
        reply([101, 102], 105),
        reply([106], 106, is_merge=True),
        reply([107], 108, is_removed=True),
        reply([109], 109),
    )

    read(feed, catalog)

    assert catalog.asked == [100, 105, 106, 108]
    assert ids(feed, 100) == (["101", "102", "109"], False)
    assert ids(feed, 105) == (["109"], False)
    assert ids(feed, 99) == (["101", "102", "109"], True)
    assert feed.version == 109


def test_a_feed_that_continues_begins_at_the_version() -> None:
    feed = feed_of(since=50)
    read(feed, Catalog(reply([51], 60)))

    assert ids(feed, 50) == (["51"], False)
    assert ids(feed, 40) == (["51"], True)


def test_changes_beyond_one_reply_are_skipped_and_said_to_be_missing() -> None:
    feed = feed_of(since=50)
    read(feed, Catalog(reply([51], 60, current=99)))

    assert ids(feed, 50) == (["51"], True)
    assert ids(feed, 99) == ([], False)


def test_a_past_that_is_forgotten_is_said_to_be_missing() -> None:
    feed = feed_of(since=50)
    read(feed, Catalog(VersionExpired("it is forgotten"), reply([101], 101)))

    assert ids(feed, 50) == (["101"], True)
    assert feed.refusal is None


def test_a_feed_remembers_a_bounded_number_of_segments() -> None:
    feed = feed_of()
    versions = range(101, 101 + KEPT_FILES_MAX)
    read(feed, Catalog(reply(versions, versions[-1])))
    assert len(ids(feed, 100)[0]) == KEPT_FILES_MAX
    assert not ids(feed, 100)[1]

    read(feed, Catalog(reply([5_000], 5_000)))

    files, is_cut = ids(feed, 100)
    assert (len(files), files[0], is_cut) == (KEPT_FILES_MAX, "102", True)
    assert not ids(feed, 101)[1]


def test_a_gateway_follows_so_many_datasets() -> None:
    async def scenario() -> None:
        feeds = LiveFeeds(lambda _: cast(MetaClient, Catalog()))
        contexts = [feeds.followed(VIEWER, f"d{number}", 0) for number in range(FEEDS_MAX)]
        for context in contexts:
            await context.__aenter__()
        async with feeds.followed(VIEWER, "d0", 0):
            with pytest.raises(Busy, match="follows 128"):
                await feeds.followed(VIEWER, "one more", 0).__aenter__()
        for context in contexts:
            await context.__aexit__(None, None, None)
        async with feeds.followed(VIEWER, "one more", 0):
            pass

    asyncio.run(scenario())


class _Refusing:
    """Queries that cannot be run now."""

    async def run(self, *_: object) -> object:
        raise Busy("others have all places")


@asynccontextmanager
async def at_once(*_: object) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize("number", [FILES_MAX, FILES_MAX + 1])
def test_a_read_has_so_many_segments_and_says_what_it_could_not_read(number: int) -> None:
    async def scenario() -> ViewEvent:
        versions = range(101, 101 + number)
        catalog = Catalog(reply(versions, versions[-1]))
        queries = cast(QueryService, _Refusing())
        reader = LiveReader(queries, cast(Templates, None), at_once)
        request = Request({"type": "http", "headers": []})
        feeds = LiveFeeds(lambda _: cast(MetaClient, catalog))
        live = parse_view("dataset=web&since=100", 10**18)
        async with aclosing(reader.events(request, VIEWER, live, feeds)) as events:
            async for event in events:
                if event.kind == "rows":
                    return event
        raise AssertionError

    event = asyncio.run(scenario())

    assert event.through == 100 + number
    assert event.values["segments_left_out"] == number - FILES_MAX
    assert event.values["trouble"] == "others have all places"
    assert event.values["is_cut"]
