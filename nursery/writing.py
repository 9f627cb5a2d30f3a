"""Writes what a task has decoded: large datasets one by one, small ones together."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from nursery.results import WrittenSegment
from nursery.segment_files import BatchSoFar, DatasetColumns, write_segments, written_segment
from nursery.small_batch import Bundle, Small, bundles, is_small
from nursery.tasks import DatasetWork
from segments.keys import new_merged_key
from segments.parquet.small_writer import SmallSegment
from segments.parquet.upload import upload_small_segment
from segments.store.interface import ObjectStore

# While a small file is put and read back, the next ones are made: most of that time is waiting.
UPLOADS = 4
UPLOADS_WAITING_MAX = 8

# A work by its index, and why its files could not be written.
Failure = tuple[int, Exception]


class Writing:
    """The files that one task has written."""

    def __init__(self, store: ObjectStore, works: Sequence[DatasetWork], folder: Path) -> None:
        self._store = store
        self._works = works
        self._folder = folder
        self._batches: dict[int, BatchSoFar] = {}
        self._written: dict[int, list[WrittenSegment]] = {}

    def written(self, work: int) -> tuple[WrittenSegment, ...]:
        """The files of one work so far, by its index."""
        return tuple(self._written.get(work, ()))

    def write(
        self, found: Mapping[int, DatasetColumns], *, is_baby_done: bool
    ) -> Iterator[Failure]:
        """Write everything that is given, by work; yields the failures.

        Files that share a baby have one batch id: of two batches that do, a catalog's rebuild
        takes one for the other's repetition.
        """
        rest = dict(found)
        if is_baby_done:
            smalls = [
                Small(index, self._works[index], columns)
                for index, columns in found.items()
                if index not in self._batches and is_small(columns)
            ]
            with ThreadPoolExecutor(UPLOADS) as pool:
                for bundle in bundles(smalls):
                    yield from self._write_bundle(bundle, pool, rest)
        for index, columns in rest.items():
            try:
                self._write_alone(index, columns, is_baby_done=is_baby_done)
            except Exception as error:
                yield index, error

    def _write_bundle(
        self, smalls: Sequence[Small], pool: ThreadPoolExecutor, rest: dict[int, DatasetColumns]
    ) -> Iterator[Failure]:
        """Write datasets together, and take those that this did for out of the rest."""
        waiting: deque[tuple[int, Future[WrittenSegment]]] = deque()
        try:
            bundle = Bundle(smalls)
        except Exception:
            # One of them is to blame, or all are too much: alone, each has its own error.
            return
        for place, small in enumerate(smalls):
            try:
                made = bundle.make(place, small)
            except Exception as error:
                del rest[small.index]
                yield small.index, error
                continue
            if made is None:
                continue
            del rest[small.index]
            waiting.append((small.index, pool.submit(self._upload, small.work, made)))
            if len(waiting) > UPLOADS_WAITING_MAX:
                yield from self._finished(*waiting.popleft())
        for index, upload in waiting:
            yield from self._finished(index, upload)

    def _upload(self, work: DatasetWork, made: SmallSegment) -> WrittenSegment:
        key = new_merged_key(work.dataset_id)
        upload_small_segment(self._store, key, made)
        return written_segment(key, made.facts)

    def _finished(self, index: int, upload: Future[WrittenSegment]) -> Iterator[Failure]:
        try:
            self._written.setdefault(index, []).append(upload.result())
        except Exception as error:
            yield index, error

    def _write_alone(self, index: int, columns: DatasetColumns, *, is_baby_done: bool) -> None:
        batch = self._batches.pop(index, None) or BatchSoFar()
        written = write_segments(
            self._store, self._works[index], columns, self._folder, batch, is_last=is_baby_done
        )
        if not is_baby_done:
            self._batches[index] = batch
        self._written.setdefault(index, []).extend(written)
