"""Calls whose messages have not come: so many may wait, each for a time; the oldest give way."""

from dataclasses import replace

import pytest

from benchmarks.harness import strangers
from benchmarks.harness.strangers import Attack, attacking
from meta import metrics
from meta.config import Settings
from meta.roles import Role
from meta.rpc import pipeline
from meta.rpc.pipeline import UNREAD_MAX
from meta.rpc.refusal_pace import BURST
from meta.v1 import catalog_pb2
from tests.support.meta.guarded import guarded
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

# RESOURCE_EXHAUSTED, as a trailer has it.
OVERLOADED = "8"
LIST = catalog_pb2.ListDatasetsRequest()


def held(calls: int, metadata: tuple[tuple[str, str], ...] = ()) -> Attack:
    """Calls that are begun once each, and have no messages."""
    return replace(strangers.HEADERS, calls=calls, renews=False, metadata=metadata)


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def restricted(who: str, why: str) -> float:
    value: float = metrics.RESTRICTED_CALLS.labels(who, why)._value.get()
    return value


def test_as_many_calls_wait_for_their_messages_as_may_and_one_more_ends_the_oldest(
    meta_server: MetaServer,
) -> None:
    unread, before = meta_server.running.pipeline.unread, restricted("everybody", "unread")
    port = port_of(meta_server.address)
    with attacking(port, held(UNREAD_MAX)) as first:
        wait_until(lambda: len(unread) == UNREAD_MAX, "the calls", seconds=30)
        assert first.ended == 0

        with attacking(port, held(1)) as second:
            wait_until(lambda: first.ended == 1, "the oldest's end", seconds=30)
            assert (second.begun, second.ended) == (1, 0)

        assert first.statuses == {OVERLOADED: 1}
    wait_until(lambda: len(unread) == 0, "the end of all", seconds=30)
    assert restricted("everybody", "unread") == before + 1


def test_a_message_that_does_not_come_in_time_ends_its_call(
    meta_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "UNREAD_SECS", 0.2)
    with guarded(meta_settings) as guard:
        metadata = (("authorization", "Bearer shared"),)
        with attacking(port_of(guard.address), held(3, metadata)) as progress:
            wait_until(lambda: progress.ended == 3, "their ends", seconds=30)

    assert progress.statuses == {OVERLOADED: 3}


def test_a_subject_without_messages_waits_before_it_displaces_more_calls(
    meta_settings: Settings,
) -> None:
    settings = replace(meta_settings, identity_rpcs_max=UNREAD_MAX + BURST + 20)
    with guarded(settings) as guard:
        token = guard.token(Role.INGEST, "hostile").plaintext_token
        attack = held(settings.identity_rpcs_max, (("authorization", f"Bearer {token}"),))
        before = restricted("subject", "unread")
        with attacking(port_of(guard.address), replace(attack, renews=True)) as progress:
            wait_until(lambda: progress.ended > BURST, "a burst", seconds=30)
            pace = guard.running.pipeline.pace
            wait_until(lambda: pace.is_behind(("unread", "hostile")), "its turn", seconds=30)
            guard.admin.catalog.ListDatasets(LIST, timeout=10)

    assert restricted("subject", "unread") - before >= BURST


def test_a_slow_message_of_one_subject_is_not_displaced_by_the_calls_of_another(
    meta_settings: Settings,
) -> None:
    with guarded(meta_settings) as guard:
        port = port_of(guard.address)
        tokens = (guard.token(Role.NURSERY, name).plaintext_token for name in ("slow", "hostile"))
        slow, hostile = ((("authorization", f"Bearer {token}"),) for token in tokens)
        begun_message = replace(
            strangers.BODIES, calls=1, connections=1, sent_bytes=100_000, metadata=slow
        )
        unread = guard.running.pipeline.unread
        with attacking(port, begun_message) as message:
            wait_until(lambda: len(unread) == 1, "the slow message", seconds=30)
            with attacking(port, replace(held(2 * UNREAD_MAX, hostile), renews=True)) as calls:
                wait_until(lambda: calls.ended > 2 * UNREAD_MAX, "their ends", seconds=30)
                assert message.ended == 0

    assert set(calls.statuses) == {OVERLOADED}
