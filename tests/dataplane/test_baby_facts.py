"""Facts of a baby segment, by its stamps or by reading its payloads."""

import subprocess
import sys

import pytest

from dataplane.baby_facts import found_baby
from segments.errors import CorruptObject
from tests.support.babies import BABIES

ARRIVED_AT = 9000
WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
import dataplane.baby_facts
"""


@pytest.mark.parametrize(
    ("name", "start_time", "end_time", "num_records"),
    [
        ("stamped", 10, 23, 6),
        ("stop", 0, 0, 0),
        ("unstamped and empty", 0, 0, 0),
        ("unstamped", 5000, 5000, 1),
        ("unstamped without times", 9000, 9000, 1),
        ("unstamped, one without a time", 5000, 9000, 2),
        ("unstamped, all signals", 3000, 9000, 5),
        ("unstamped, not decodable", 0, 0, 1),
        ("unstamped, in part decodable", 5000, 5000, 2),
    ],
)
def test_times_lie_at_the_arrival_where_a_record_has_none(
    name: str, start_time: int, end_time: int, num_records: int
) -> None:
    facts = found_baby(BABIES[name], lambda: ARRIVED_AT).facts

    assert (facts.start_time, facts.end_time) == (start_time, end_time)
    assert facts.num_records == num_records
    assert facts.size_bytes == len(BABIES[name])


@pytest.mark.parametrize("name", ["damaged", "garbage", "cut"])
def test_what_cannot_be_decoded_has_no_facts_of_its_own(name: str) -> None:
    with pytest.raises(CorruptObject):
        found_baby(BABIES[name], lambda: ARRIVED_AT)


def test_facts_need_no_pyarrow() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_PYARROW], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
