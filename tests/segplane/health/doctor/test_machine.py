"""Checks of this machine."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from segplane.health.doctor import machine
from segplane.health.doctor.verdicts import CheckVerdict
from tests.support.certificates import Authority

SECOND = 10**9


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ('openjdk version "17.0.11" 2024-04-16', CheckVerdict.OK),
        ('openjdk version "21" 2023-09-19', CheckVerdict.OK),
        ('java version "1.8.0_202"', CheckVerdict.NEEDS),
        ('openjdk version "11.0.2" 2019-01-15', CheckVerdict.NEEDS),
        ("no such program", CheckVerdict.UNKNOWN),
    ],
)
def test_the_java_of_spark_is_17_or_newer(told: str, verdict: CheckVerdict) -> None:
    assert machine.java_of(told).verdict is verdict


def test_a_machine_without_java_is_not_known_to_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert machine.java().verdict is CheckVerdict.UNKNOWN


@pytest.mark.parametrize(
    ("skew_secs", "verdict", "words"),
    [
        (0, CheckVerdict.OK, "less than"),
        (60, CheckVerdict.NEEDS, "ahead"),
        (-60, CheckVerdict.NEEDS, "behind"),
    ],
)
def test_a_clock_is_compared_with_the_database(
    skew_secs: int, verdict: CheckVerdict, words: str
) -> None:
    check = machine.clock(time.time_ns() - skew_secs * SECOND)

    assert check.verdict is verdict
    assert words in check.text


def test_without_the_time_of_the_database_the_clock_is_not_checked() -> None:
    assert machine.clock(None).verdict is CheckVerdict.UNKNOWN


def test_disk_and_memory_of_this_machine_are_read(tmp_path: Path) -> None:
    assert "are free" in machine.free_disk(tmp_path).text
    assert "GiB are" in machine.memory_limit().text


@pytest.mark.parametrize(
    ("days", "verdict"),
    [(-1, CheckVerdict.NEEDS), (13, CheckVerdict.WARNING), (15, CheckVerdict.OK)],
)
def test_a_certificate_is_judged_by_its_end(
    tmp_path: Path, days: int, verdict: CheckVerdict
) -> None:
    now = datetime.now(UTC)
    valid = (now - timedelta(days=300), now + timedelta(days=days))
    files = Authority(tmp_path / "authority").issue("operator", valid=valid)

    check = machine.certificate(files.cert, time.time_ns())

    assert check.verdict is verdict
    assert str(files.cert) in check.text


def test_a_certificate_that_cannot_be_read_needs_a_person(tmp_path: Path) -> None:
    assert machine.certificate(tmp_path / "no", 1).verdict is CheckVerdict.NEEDS
