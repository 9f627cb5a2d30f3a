"""fsck over a listing that is made up as it is read: `python -m ... ADDRESS OBJECTS`.

Prints counts and the peak of this process's memory. The last segment is missing from the listing,
and in its place there is an object that nobody knows.
"""

import json
import resource
import sys
from collections.abc import Iterator

from meta.client import MetaClient
from segments.store.interface import ObjectInfo
from segplane.fsck.catalog_check import check_catalog, report_of
from segplane.fsck.check_cursor import CatalogCursor

DATASET = "01a20108-991a-792f-8c91-6c2206629ea5"
SEGMENT = "01a20108-991a-7000-8000-"
STREAM = "01a20108-99e5-7000-8000-"
NUM_STREAMS = 100_000
BABY = 1_000


class MadeUpListing:
    """Lists so many segments of one dataset, and one baby of each stream."""

    def __init__(self, segments: int) -> None:
        self._segments = segments

    def list(self, prefix: str, start_after: str = "") -> Iterator[ObjectInfo]:
        """List from the start; nothing resumes here."""
        assert not start_after
        if prefix.startswith("dataset"):
            for number in range(self._segments - 1):
                yield self._segment(f"{SEGMENT}{number:012x}")
            yield self._segment(f"{SEGMENT}ffffffffffff")
        else:
            for number in range(NUM_STREAMS):
                yield ObjectInfo(f"ingest-stream/{STREAM}{number:012x}/{0:020}", BABY, 1)

    def _segment(self, name: str) -> ObjectInfo:
        return ObjectInfo(f"dataset/{DATASET}/merged/{name}.parquet", 1_000, 1)


def main() -> None:
    """Check, and print what was found and needed."""
    address, segments = sys.argv[1], int(sys.argv[2])
    cursor = CatalogCursor()
    with MetaClient(address) as client:
        check_catalog(client, MadeUpListing(segments), cursor, lambda _: None)  # type: ignore[arg-type]
    report = report_of(cursor)
    names = ("objects", "segments", "babies", "streams", "num_violations", "num_orphans")
    found = {name: getattr(report, name) for name in names}
    found["num_unknown"] = cursor.num_unknown
    found["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024
    print(json.dumps(found))


if __name__ == "__main__":
    main()
