"""Digests of committed exports."""

import pytest

from collector.otlp import export
from collector.otlp.export import CommittedDigests
from tests.support.clock import SettableClock


def test_a_digest_is_known_for_its_time_and_then_forgotten() -> None:
    clock = SettableClock()
    digests = CommittedDigests(600.0, clock)
    digests.add([b"a"])
    clock.now += 599
    digests.add([b"b"])

    assert b"a" in digests
    clock.now += 1
    assert b"a" not in digests
    assert b"b" in digests
    digests.add([b"c"])
    assert len(digests) == 2


def test_a_digest_read_from_the_store_is_as_old_as_its_object() -> None:
    clock = SettableClock()
    digests = CommittedDigests(600.0, clock)
    digests.add([b"a"], age_secs=500.0)
    clock.now += 100

    assert b"a" not in digests


def test_committing_again_makes_it_young() -> None:
    clock = SettableClock()
    digests = CommittedDigests(600.0, clock)
    digests.add([b"a"])
    digests.add([b"b"])
    clock.now += 400
    digests.add([b"a"])
    clock.now += 300

    assert b"a" in digests
    assert b"b" not in digests


def test_the_oldest_go_first_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "DIGESTS_MAX", 3)
    digests = CommittedDigests(600.0)
    digests.add([bytes([n]) for n in range(5)])

    assert len(digests) == 3
    assert bytes([1]) not in digests
    assert bytes([2]) in digests
