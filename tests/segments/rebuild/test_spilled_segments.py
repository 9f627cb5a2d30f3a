"""Segments of a bucket in a temporary file: read back as they were, one dataset in memory."""

import subprocess
import sys
from dataclasses import replace

import pytest

from segments.inventory.contents import SegmentFound
from segments.rebuild.spilled_segments import SpilledSegments
from tests.support.inventories import found, merged, raw, uuid

SEGMENTS = 400
# Prints the most bytes that a plan of so many datasets had allocated. Allocations of all threads of
# a process are counted, so it has a process for itself.
_PEAK = """
import sys, tracemalloc
from segments.rebuild.plan import plan
from segments.rebuild.spilled_segments import SpilledSegments
from tests.segments.rebuild.test_spilled_segments import SEGMENTS, of_dataset
datasets, segments = int(sys.argv[1]), SpilledSegments()
for number in range(datasets):
    segments.add(of_dataset(100 + number, SEGMENTS))
tracemalloc.start()
rebuilt = plan(segments, [])
print(tracemalloc.get_traced_memory()[1])
assert len(rebuilt.segments) == datasets * SEGMENTS
"""


def of_dataset(number: int, segments: int) -> list[SegmentFound]:
    """Segments of a dataset, each of its own batch and of the next offset of one stream."""
    made = [raw(n, (n, n)) for n in range(segments)]
    return [
        found(
            segment.key.replace(segment.footer.dataset_id, uuid(number), 1),
            replace(segment.footer, dataset_id=uuid(number)),
        )
        for segment in made
    ]


def test_segments_are_read_back_as_they_were() -> None:
    first, second = raw(1, (0, 3)), raw(2, (4, 7))
    output = merged(9, first, second)
    segments = SpilledSegments([second, output, first])

    assert [*segments] == sorted([first, second, output], key=lambda segment: segment.key)
    assert segments.among([first.key, "absent"]) == {first.key}
    segments.choose(first.footer.dataset_id, [output.key, first.key])
    live = segments.live()
    assert [*live.by_merge_count()] == [first, output]
    assert segments.hide([first.key, second.key]) == [first.key]
    assert ([*live], len(live), len(segments)) == ([output], 1, 3)
    segments.remove([second.key])
    assert len(segments) == 2


@pytest.mark.long
def test_a_plan_has_one_dataset_in_memory() -> None:
    peaks = [
        int(subprocess.check_output([sys.executable, "-c", _PEAK, str(datasets)]))
        for datasets in (2, 16)
    ]

    assert peaks[1] < 1.5 * peaks[0]
