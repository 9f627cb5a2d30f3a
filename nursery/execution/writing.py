"""Writes datasets' columns as files: large datasets one by one, small ones together."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from dataplane.babies.columns import DatasetColumns
from dataplane.babies.reads import DatasetWork
from nursery.execution.dataset_execution import DatasetExecution, OpenBatch
from nursery.execution.segment_files import write_segments
from nursery.execution.small_batch import SmallBatch, SmallDataset, group_small, is_small
from segments.keys import new_merged_key
from segments.parquet.small_writer import SmallSegment
from segments.parquet.upload import WrittenSegment, upload_small_segment
from segments.store.interface import ObjectStore

# Small files are uploaded while the next are encoded: an upload mostly waits.
UPLOADS = 4
UPLOADS_WAITING_MAX = 8


def write_datasets(
    store: ObjectStore,
    folder: Path,
    held: Sequence[tuple[DatasetExecution, DatasetColumns]],
    *,
    is_last: bool,
) -> None:
    """Write and upload columns, adding the files to their datasets; a failure fails its dataset.

    `is_last` is false if a baby of theirs continues in later files.
    """
    pending = [(dataset, columns) for dataset, columns in held if columns.tables]
    if is_last:
        smalls = [
            SmallDataset(dataset, columns)
            for dataset, columns in pending
            if dataset.batch is None and is_small(columns)
        ]
        done: set[int] = set()
        with ThreadPoolExecutor(UPLOADS) as pool:
            for batch in group_small(smalls):
                done |= _write_small(store, batch, pool)
        pending = [(dataset, columns) for dataset, columns in pending if dataset.index not in done]
    for dataset, columns in pending:
        try:
            _write_alone(store, folder, dataset, columns, is_last=is_last)
        except Exception as error:  # noqa: BLE001 - fails this dataset and no other
            dataset.fail(error)


def _write_small(
    store: ObjectStore, smalls: Sequence[SmallDataset], pool: ThreadPoolExecutor
) -> set[int]:
    """Write small datasets together; returns the indexes of those that are written or failed."""
    try:
        batch = SmallBatch(smalls)
    except Exception:  # noqa: BLE001 - written alone instead
        # One of them is at fault, or together they are too large. Written alone, each has its
        # own outcome.
        return set()
    done: set[int] = set()
    uploads: deque[tuple[DatasetExecution, Future[WrittenSegment]]] = deque()
    for index, small in enumerate(smalls):
        try:
            segment = batch.segment(index)
        except Exception as error:  # noqa: BLE001 - fails this dataset and no other
            small.dataset.fail(error)
            done.add(small.dataset.index)
            continue
        if segment is None:
            continue
        done.add(small.dataset.index)
        upload = pool.submit(_upload, store, small.dataset.work, segment)
        uploads.append((small.dataset, upload))
        if len(uploads) > UPLOADS_WAITING_MAX:
            _finish(*uploads.popleft())
    for dataset, upload in uploads:
        _finish(dataset, upload)
    return done


def _upload(store: ObjectStore, work: DatasetWork, segment: SmallSegment) -> WrittenSegment:
    key = new_merged_key(work.dataset_id, work.spec.store)
    upload_small_segment(store, key, segment)
    return WrittenSegment(key, segment.facts)


def _finish(dataset: DatasetExecution, upload: Future[WrittenSegment]) -> None:
    try:
        dataset.segments.append(upload.result())
    except Exception as error:  # noqa: BLE001 - fails this dataset and no other
        dataset.fail(error)


def _write_alone(
    store: ObjectStore,
    folder: Path,
    dataset: DatasetExecution,
    columns: DatasetColumns,
    *,
    is_last: bool,
) -> None:
    batch = dataset.batch or OpenBatch()
    dataset.batch = None
    written = write_segments(
        store,
        dataset.work,
        columns,
        folder,
        batch,
        dataset.footer(columns),
        is_last=is_last,
    )
    if not is_last:
        dataset.batch = batch
    dataset.segments.extend(written)
