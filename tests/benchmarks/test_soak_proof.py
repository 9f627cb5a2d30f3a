"""The soak's proof finds what is missing, doubled or strange."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from benchmarks.soak.load import NUMBER
from benchmarks.soak.proof import count_numbers


def _file(folder: Path, name: str, signal: str, numbers: Sequence[int]) -> str:
    rows = {
        "signal": [signal] * len(numbers),
        "attributes": [json.dumps({NUMBER: f"{n:012d}"}) for n in numbers],
    }
    path = folder / f"{name}.parquet"
    parquet.write_table(pa.table(rows), path)
    return str(path)


def test_records_in_any_order_and_file_are_each_there_once(tmp_path: Path) -> None:
    files = [
        _file(tmp_path, "a", "logs", [9, 3, 4, 0]),
        _file(tmp_path, "b", "logs", [1, 2, 8, 7, 6, 5]),
        _file(tmp_path, "c", "traces", range(1_000)),
    ]

    found = count_numbers(files, "shop", {"logs": 10, "traces": 1_000})

    assert [(one.name, one.records) for one in found] == [("shop/logs", 10), ("shop/traces", 1_000)]
    assert all(one.is_once_each for one in found)


@pytest.mark.parametrize(
    ("numbers", "distinct"),
    [
        pytest.param([*range(99)], 99, id="one missing"),
        pytest.param([*range(100), 7], 100, id="one twice"),
        pytest.param([*range(99), 7], 99, id="one twice, one missing"),
        pytest.param([*range(99), 100], 100, id="a number never sent"),
        pytest.param([0], 1, id="all but the first missing"),
    ],
)
def test_what_differs_is_found(tmp_path: Path, numbers: list[int], distinct: int) -> None:
    files = [_file(tmp_path, "a", "logs", numbers)]

    (found,) = count_numbers(files, "shop", {"logs": 100})

    assert not found.is_once_each
    assert (found.records, found.distinct) == (len(numbers), distinct)


def test_a_signal_that_never_arrived_is_found(tmp_path: Path) -> None:
    found = count_numbers([], "shop", {"logs": 5})

    assert [(one.is_once_each, one.records) for one in found] == [(False, 0)]


def test_a_signal_that_was_never_sent_is_found(tmp_path: Path) -> None:
    files = [_file(tmp_path, "a", "traces", range(5))]

    found = count_numbers(files, "shop", {})

    assert [(one.name, one.is_once_each) for one in found] == [("shop/traces", False)]
