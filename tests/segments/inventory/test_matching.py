"""The merge join of rows and objects, against sets, and in bounded memory."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.inventory.matching import match


class Named(NamedTuple):
    """A row or an object with nothing but a key."""

    object_key: str


NOTHING: list[Named] = []
KEYS = st.sets(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3))


def key_of(item: Named) -> str:
    return item.object_key


def consume(pairs: Iterator[object]) -> None:
    for _ in pairs:
        pass


def of(keys: set[str]) -> list[Named]:
    # Object stores order keys by their bytes.
    return [Named(key) for key in sorted(keys, key=str.encode)]


@given(KEYS, KEYS)
def test_each_row_meets_the_object_of_its_key_and_no_other(rows: set[str], keys: set[str]) -> None:
    matched = match(of(rows), of(keys), key_of)
    pairs = list(matched)

    assert {row.object_key for row, item in pairs if row and item is None} == rows - keys
    assert {item.object_key for row, item in pairs if item and row is None} == keys - rows
    both = [(row.object_key, item.object_key) for row, item in pairs if row and item]
    assert both == [(key, key) for key in sorted(rows & keys, key=str.encode)]
    assert len(pairs) == len(rows | keys)


@pytest.mark.parametrize("keys", [["b", "a"], ["a", "a"], [""]], ids=["falls", "repeats", "empty"])
def test_a_side_that_is_out_of_order_is_refused(keys: list[str]) -> None:
    items = [Named(key) for key in keys]

    with pytest.raises(ValueError, match="does not come after"):
        consume(match(items, NOTHING, key_of))
    with pytest.raises(ValueError, match="does not come after"):
        consume(match(NOTHING, items, key_of))


def test_neither_side_is_read_ahead_of_the_other_by_more_than_one() -> None:
    rows, items = [0], [0]

    def counted(numbers: list[int]) -> Iterator[Named]:
        while True:
            numbers[0] += 1
            yield Named(f"{numbers[0]:09}")

    pairs = match(counted(rows), counted(items), key_of)
    for _ in range(100):
        next(pairs)

    assert rows[0] <= 101
    assert items[0] <= 101


# Ten million objects: half in a named store, every thousandth without a row.
_LARGE = """
import heapq, json, sys
from pathlib import Path
from segments.inventory.listing import list_objects
from segments.inventory.matching import match
from segments.keys import DATASETS_ROOT, parse_key
from segments.store.interface import ObjectInfo
from tests.segments.inventory.test_matching import Named

COUNT = int(sys.argv[1])
DATASET = "01a20108-991a-792f-8c91-6c2206629ea5"

def key(number):
    folder = "store-cold/" if number >= COUNT // 2 else ""
    return f"dataset/{DATASET}/merged/{folder}01a20108-991a-7000-8000-{number:012x}.parquet"

class MadeUp:
    def list(self, prefix, start_after=""):
        halves = (range(COUNT // 2), range(COUNT // 2, COUNT))
        listings = ((ObjectInfo(key(n), 1, 1) for n in half) for half in halves)
        return heapq.merge(*listings, key=lambda info: info.key.encode())

rows = (Named(key(n)) for n in range(COUNT) if n % 1_000)
strangers = other = 0
for row, info in match(rows, list_objects(MadeUp(), DATASETS_ROOT), lambda info: info.key):
    if row is None:
        assert parse_key(info.key) is not None
        strangers += 1
    other += info is None
# Not ru_maxrss, which counts what the parent had when it forked.
(peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(json.dumps([strangers, other, int(peak.split()[1]) * 1_024]))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "count",
    [
        200_000,
        pytest.param(
            int(os.environ.get("INVENTORY_OBJECTS", "10000000")),
            marks=[pytest.mark.slow, pytest.mark.timeout(1_800)],
        ),
    ],
)
def test_many_objects_of_two_stores_need_little_memory(count: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LARGE, str(count)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    strangers, missing, peak_bytes = map(int, done.stdout.strip("[]\n").split(","))
    assert (strangers, missing) == (count // 1_000, 0)
    assert peak_bytes < 300_000_000
