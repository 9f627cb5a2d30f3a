"""CPU time of the scrub at its default rate, against a core that is busy ingesting or merging.

Only CPU time is measured: the scrub waits between its reads, so that its time on the clock says
nothing. Objects are read from a folder; over S3 the client's own CPU time comes on top.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import google_crc32c

from benchmarks.harness.merged_segments import DATASET_ID, write_segments
from benchmarks.harness.results import Result, compare
from janitor.config import Settings
from segments.keys import new_merged_key
from segments.location import StoreLocation
from segments.object_check import KnownObject, check_object
from segments.store.interface import ObjectStore
from segments.store.open import open_store

SEGMENTS = 8
ROUNDS = 5
# The part of the CPU time of a busy core that the scrub may take.
BAR = 0.03


def run() -> list[Result]:
    """Measure reads of known objects, with and without pages."""
    with tempfile.TemporaryDirectory(prefix="segplane-bench-") as name:
        folder = Path(name)
        (folder / "in").mkdir()
        store = open_store(StoreLocation.from_url((folder / "objects").as_uri()))
        store.probe()
        known = [_put(store, path) for path in write_segments(folder / "in", SEGMENTS)]
        size_bytes = sum(one.size_bytes for one in known)
        scrub = _cpu_secs(lambda: _check(store, known, read_pages=False)) / size_bytes
        pages = _cpu_secs(lambda: _check(store, known, read_pages=True)) / size_bytes
    print(f"  scrub {scrub * 1e9:.2f} s of CPU a GB, pages as well {pages * 1e9:.2f}")
    share = scrub * Settings().scrub_bytes_per_sec
    return [
        compare(
            "scrub_cpu_share",
            share,
            1.0,
            reference_name="a core that is busy with ingest or merges",
            unit="CPU s a second",
            bar=BAR,
            higher_is_better=False,
        ),
        compare(
            "scrub_cpu_of_pages",
            pages * 1e9,
            scrub * 1e9,
            reference_name="checksums alone",
            unit="CPU s a GB",
            higher_is_better=False,
        ),
    ]


def _put(store: ObjectStore, path: Path) -> KnownObject:
    key = new_merged_key(DATASET_ID)
    store.put_file_if_absent(key, path)
    body = path.read_bytes()
    return KnownObject(key, len(body), int(google_crc32c.value(body)))


def _check(store: ObjectStore, known: list[KnownObject], *, read_pages: bool) -> None:
    for one in known:
        assert not check_object(store, one, read_pages=read_pages).damage


def _cpu_secs(work: Callable[[], None]) -> float:
    """The least CPU time of some rounds: others on the machine can only add to it."""
    secs = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        secs.append(time.process_time() - began)
    return min(secs)
