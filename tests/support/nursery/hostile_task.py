"""One nursery task over a baby of very many empty records, in a process that measures itself.

    python -m tests.support.nursery.hostile_task <folder> <millions of records>

Prints one line of JSON: rows written, files, and by how many MB the peak of memory grew.
"""

import json
import resource
import sys
from pathlib import Path
from uuid import uuid4

from dataplane.babies.reads import DatasetWork, Routes, TaskRead
from nursery.execution.execute import Budget, execute
from nursery.planning.tasks import Task
from segments.baby import Baby, BabyKind, TokenPart, encode_baby
from segments.keys import baby_key
from segments.location import StoreLocation
from segments.offsets import OffsetSpan
from segments.otlp.decode import decode
from segments.parquet.spec import SegmentSpec
from segments.store.open import open_store
from tests.support.otlp.messages import length_delimited

BUDGET = Budget(decode_bytes_max=1 << 24, held_bytes_max=1 << 25)


def main(folder: Path, millions: int) -> None:
    """Write one baby, run the task, say what it took."""
    (folder / "objects").mkdir(parents=True)
    (folder / "work").mkdir()
    store = open_store(StoreLocation.from_url((folder / "objects").as_uri()))
    stream, dataset = str(uuid4()), str(uuid4())
    count = millions * 1_000_000
    body = length_delimited(1, length_delimited(2, b"\x12\x00" * count))
    part = TokenPart(str(uuid4()), "logs", (body,), dataset, count, 1, 1)
    baby = Baby((part,), BabyKind.DATA, b"f" * 16, 10**18)
    store.put_if_absent(baby_key(stream, 0), encode_baby(baby))
    task = Task(
        (DatasetWork(dataset, SegmentSpec(), (OffsetSpan(stream, 0, 0),)),),
        (TaskRead(stream, 0, is_owner=True),),
        (Routes(stream, {dataset: -1}, ()),),
    )
    # What libraries load once is not the task's.
    decode("logs", [length_delimited(1, length_delimited(2, b"\x12\x00"))], [1])
    before = _peak_mb()
    result = execute(task, store, BUDGET, folder / "work")
    (found,) = result.datasets
    said = {
        "error": found.error,
        "rows": sum(one.facts.rows for one in found.segments),
        "files": len(found.segments),
        "grown_mb": _peak_mb() - before,
    }
    print(json.dumps(said))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
