"""Times of JSON records are read to the nanosecond, or refused."""

import pytest

from collector.records import json_times, json_values
from collector.records.json_times import TimestampUnit
from collector.records.json_values import Misfit


def read(timestamp: str, unit: TimestampUnit | None) -> int:
    """Read a time as it stands in JSON."""
    return json_times.nanos(json_values.parse(timestamp.encode()), unit)


@pytest.mark.parametrize(
    ("timestamp", "unit", "nanos"),
    [
        ("631152000", None, 631_152_000 * 10**9),
        ("1764063000.5", None, 1_764_063_000_500_000_000),
        ("1764063000123", None, 1_764_063_000_123_000_000),
        ("1764063000123456", None, 1_764_063_000_123_456_000),
        ("1764063000123456789", None, 1_764_063_000_123_456_789),
        ("4102444799", None, 4_102_444_799 * 10**9),
        ("1", "s", 10**9),
        ("1e3", "ms", 10**9),
        ('"1970-01-01T00:00:00.1Z"', None, 10**8),
        ('"2024-02-29t23:59:59-00:30"', None, 1_709_252_999 * 10**9),
    ],
)
def test_times_are_read_exactly(timestamp: str, unit: TimestampUnit | None, nanos: int) -> None:
    assert read(timestamp, unit) == nanos


@pytest.mark.parametrize(
    ("timestamp", "unit"),
    [
        ("631151999", None),
        ("4102444800", None),
        ("0", "s"),
        ("-1", "s"),
        ("9223372037", "s"),
        ("1.5", "ns"),
        ("1e-9999999999999999999999", "s"),
        ("1e999999999", "s"),
        ("1" * 50, "ns"),
        ('"2026-11-25"', None),
        ('"2026-11-25T10:30:00"', None),
        ('"2026-02-29T10:30:00Z"', None),
        ('"2026-11-25T10:30:60Z"', None),
        ('"2026-11-25T10:30:00.0000000001Z"', None),
        ('"0001-01-01T00:00:00+14:00"', None),
        ("true", None),
        ("[1764063000]", None),
    ],
)
def test_other_times_are_refused_with_their_place(
    timestamp: str, unit: TimestampUnit | None
) -> None:
    with pytest.raises(Misfit) as misfit:
        read(timestamp, unit)

    assert misfit.value.path == "timestamp"
