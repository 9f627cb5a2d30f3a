"""Datasets that queries leave open for the next ones: found again only while they are the same."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meta import metrics
from meta.client import MetaClient
from meta.config import Settings
from meta.roles import Role
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as ops
from segplane.gateway.queries import kept_datasets
from segplane.gateway.queries.kept_datasets import (
    AGE_SECS_MAX,
    IDLE_SECS,
    KEPT_MAX,
    KeptDatasets,
)
from segplane.read.bounds import NANOS_MAX, NANOS_MIN, TimeBounds, widened
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete, rename, set_settings
from tests.support.meta.guarded import guarded
from tests.support.meta.segments import DAY, EPOCH
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

COUNT = "web | count"
ALWAYS = TimeBounds()
# A revocation reaches meta within 3 s, and the gateway 2 s later.
_REVOKED_SECS = 10


def calls() -> Counter[str]:
    """Calls that this process's meta has answered, by name."""
    answered = Counter[str]()
    for metric in metrics.META.collect():
        for sample in metric.samples:
            if sample.name == "segplane_rpc_seconds_count":
                answered[sample.labels["rpc"]] += int(sample.value)
    return answered


def pins(client: MetaClient) -> int:
    return len(client.operations.ListPins(ops.ListPinsRequest()).pins)


def promote(segments: SegmentWriter, name: str) -> None:
    column = common_pb2.PromotedColumn(
        name=name,
        type=common_pb2.KQL_TYPE_STRING,
        scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
        attribute=name,
    )
    settings = ops.DatasetSettings(promoted_columns=ops.PromotedColumns(columns=[column]))
    set_settings(segments.client, segments.dataset, settings)


def test_the_next_query_of_an_unchanged_dataset_asks_meta_once(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=3)
    texts = (COUNT, "web | where timestamp > ago(30000d) | summarize count()", COUNT)
    assert [gateway.query(text).json for text in texts[:2]] == [[{"Count": 3}], [{"count_": 3}]]

    before = calls()
    answers = [gateway.query(text).json for text in texts]

    assert answers == [[{"Count": 3}], [{"count_": 3}], [{"Count": 3}]]
    made = calls() - before
    assert made.pop("ListDatasetChanges") == len(texts)
    assert made.keys() <= {"GetServerState"}


def test_each_query_sees_what_was_registered_before_it(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    for files in range(1, 4):
        segments.write(rows=2)
        assert gateway.query(COUNT).json == [{"Count": 2 * files}]
        # A sliding window lists its files under the same bounds, and sees new ones too.
        assert gateway.query("web | where timestamp > ago(30000d) | count").json == [
            {"Count": 2 * files}
        ]


def test_a_query_of_two_datasets_reads_both_at_one_version(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    other = replace(
        segments, dataset=CatalogDriver(segments.client).dataset("shop"), files=0, rows=[]
    )
    both = "web | summarize n = count() | extend m = toscalar(shop | count)"
    segments.write(rows=2)
    other.write(rows=5)
    assert gateway.query(both).json == [{"n": 2, "m": 5}]

    other.write(rows=1)
    assert gateway.query(both).json == [{"n": 2, "m": 6}]
    segments.write(rows=1)
    assert gateway.query(both).json == [{"n": 3, "m": 6}]
    assert gateway.query(both).json == [{"n": 3, "m": 6}]


def test_a_change_of_columns_names_or_the_dataset_itself_is_seen(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=2)
    assert gateway.query(COUNT).json == [{"Count": 2}]
    assert gateway.query("web | project plan").status == 400
    promote(segments, "plan")
    assert gateway.query("web | project plan").json == [{"plan": None}, {"plan": None}]

    rename(segments.client, segments.dataset, "shop")
    assert gateway.query(COUNT).status == 400
    assert gateway.query("shop | count").json == [{"Count": 2}]

    assert delete(segments.client, segments.dataset)
    assert gateway.query("shop | count").status == 400
    # Without segments: nothing has changed but the dataset.
    CatalogDriver(segments.client).dataset("shop")
    assert gateway.query("shop | count").json == [{"Count": 0}]


@pytest.mark.long
def test_a_dataset_that_one_caller_left_open_gives_another_no_rights(
    meta_settings: Settings, tmp_path: Path, query_pool: SharedPool
) -> None:
    with guarded(meta_settings) as guard:
        location = meta_settings.location
        Path("/", location.path).mkdir(parents=True, exist_ok=True)
        catalog = CatalogDriver(guard.admin)
        SegmentWriter(guard.admin, catalog.dataset("web"), tmp_path).write(rows=2)
        catalog.dataset("other")
        own = guard.token(Role.GATEWAY).plaintext_token
        reader = guard.token(Role.READER)
        limited = guard.token(Role.READER, "limited", dataset_names=["other"])
        gateway = GatewayServer(guard.address, own, pool=query_pool, meta_auth_token=own)
        try:

            def status(token: str) -> int:
                return gateway.query(COUNT, headers={"Authorization": f"Bearer {token}"}).status

            assert status(reader.plaintext_token) == 200
            assert status(limited.plaintext_token) == 400
            request = ops.RevokeAccessTokenRequest(token_id=reader.token.id)
            guard.admin.operations.RevokeAccessToken(request)
            wait_until(
                lambda: status(reader.plaintext_token) == 401, "refused", seconds=_REVOKED_SECS
            )
        finally:
            gateway.close()


@pytest.fixture
def now() -> list[float]:
    """The clock of the datasets under test, in seconds."""
    return [0.0]


@pytest.fixture
def kept(now: list[float]) -> Iterator[KeptDatasets]:
    keeper = KeptDatasets(lambda: now[0])
    yield keeper
    keeper.close()


def use_once(kept: KeptDatasets, server: MetaServer, name: str) -> None:
    use = kept.open("me", lambda: MetaClient(server.address), name, None, ALWAYS)
    use.end()


def test_a_dataset_is_closed_after_its_last_use(
    kept: KeptDatasets, now: list[float], meta_server: MetaServer, segments: SegmentWriter
) -> None:
    client = segments.client
    use_once(kept, meta_server, "web")
    now[0] += IDLE_SECS - 1
    again = kept.find("me", client, "web")
    assert again is not None
    now[0] += IDLE_SECS + 1
    assert pins(client) == 1
    again.check()

    again.end()
    now[0] += IDLE_SECS
    wait_until(lambda: not pins(client), "the pin is released")
    assert kept.find("me", client, "web") is None


def test_a_dataset_in_use_is_opened_anew_after_a_minute_and_closed_after_its_use(
    kept: KeptDatasets, now: list[float], meta_server: MetaServer, segments: SegmentWriter
) -> None:
    client = segments.client
    use = kept.open("me", lambda: MetaClient(meta_server.address), "web", None, ALWAYS)
    now[0] += AGE_SECS_MAX
    assert kept.find("me", client, "web") is None
    use.check()
    use_once(kept, meta_server, "web")
    assert pins(client) == 2

    use.end()
    wait_until(lambda: pins(client) == 1, "the older pin is released")


def test_the_datasets_and_files_that_are_kept_are_bounded(
    kept: KeptDatasets,
    meta_server: MetaServer,
    segments: SegmentWriter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client, catalog = segments.client, CatalogDriver(segments.client)
    names = [f"d{number}" for number in range(KEPT_MAX + 1)]
    for name in names:
        catalog.dataset(name)
        use_once(kept, meta_server, name)
    wait_until(lambda: pins(client) == KEPT_MAX, "the dataset used first is closed")
    assert kept.find("me", client, names[0]) is None
    last = kept.find("me", client, names[-1])
    assert last is not None
    last.end()

    monkeypatch.setattr(kept_datasets, "FILES_MAX", 2)
    for files in (2, 3):
        while segments.files < files:
            segments.write(rows=1)
        use_once(kept, meta_server, "web")
        use = kept.find("me", client, "web")
        assert (use is not None) == (files == 2)
        if use is not None:
            use.end()
            segments.write(rows=1)
            assert kept.find("me", client, "web") is None


@given(
    now=st.integers(10**18, 2 * 10**18),
    start=st.none() | st.integers(NANOS_MIN, NANOS_MAX - 1),
    length=st.none() | st.integers(1, 2**62),
)
def test_wider_bounds_hold_the_asked_ones_and_little_more(
    now: int, start: int | None, length: int | None
) -> None:
    end = None if length is None else min(NANOS_MAX, (start or 0) + length)
    bounds = TimeBounds(start, end)

    wider = widened(bounds, now)

    assert (wider.start is None) == (start is None)
    if start is not None and wider.start is not None:
        assert 0 <= start - wider.start <= abs(now - start) // 8 + 1
    if wider.end is not None:
        assert end is not None
        assert 0 <= wider.end - end <= (now - end) // 8 + 1
    else:
        assert end is None or end >= now


def test_a_window_that_slides_keeps_its_bounds_for_a_while() -> None:
    hour = 3_600 * 10**9
    now = EPOCH + 400 * DAY
    seen = {
        widened(TimeBounds(now + second * 10**9 - hour), now + second * 10**9)
        for second in range(60)
    }
    assert len(seen) <= 2
