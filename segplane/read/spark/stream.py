"""A stream of the records added to a dataset: each once, merges not again.

An offset is a version with the pin that keeps the changes since. A new stream reads the dataset as
it is, in parts that `files` counts, and continues with the changes. The files of an offset last as
long as its pin, so a batch that is repeated has the same files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from segplane.read.bounds import TimeBounds
from segplane.read.errors import ReadError, meta_refusals
from segplane.read.files.files import DatasetFile, signals_of
from segplane.read.files.left_out import find_readable
from segplane.read.rows.columns import ReadColumns
from segplane.read.spark.added_files import AddedFiles, check_same, count_within, current_version
from segplane.read.spark.options import FILES_PER_TRIGGER, SourceOptions
from segplane.read.spark.rows import SlicePartition, check_schema, pack, read_slices
from segplane.read.spark.snapshot import Snapshot, open_snapshot
from segplane.read.spark.stream_pins import StreamPins
from segplane.terminal.times import parse_time

if TYPE_CHECKING:
    import pyarrow as pa

Offset = dict[str, Any]
LATEST = "latest"
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)


def stream_columns(options: SourceOptions, snapshot: Snapshot | None) -> Snapshot:
    """The dataset's promoted columns at the start of a stream. Raises ReadError."""
    return open_snapshot(options) if snapshot is None else snapshot


class SegplaneStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the batches of a stream in its own process, and reads them on executors."""

    def __init__(self, options: SourceOptions, snapshot: Snapshot, schema: StructType) -> None:
        if options.version is not None:
            raise ReadError("a stream has no option 'version': use 'startingVersion'")
        self._options = options
        self._snapshot = snapshot
        self._schema = schema
        self._bounds = _fixed_bounds(options)
        check_schema(schema, self._columns())
        self._until: int | None = None
        self._files: tuple[int, tuple[DatasetFile, ...]] | None = None
        # Opened when the stream is planned: Spark sends this object to executors too.
        self._client: MetaClient | None = None
        self._pins: StreamPins | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Pin the beginning of a new stream."""
        with self._meta() as (_, pins):
            version, is_whole = self._start()
            pin = pins.take(self._until if version is None else version)
            return _offset(pin, 0 if is_whole else None)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """The end of the next batch, at most `limit` beyond the start."""
        with self._meta() as (client, pins):
            pin = self._hold(pins, start)
            if "files" in start:
                files = self._files_at(client, start["version"])
                end = count_within(files[start["files"] :], limit) + start["files"]
                return _offset(pin, end if end < len(files) else None)
            through = self._added(client, start).through(limit, self._until, pin)
            if through > start["version"]:
                return _offset(pins.take(through))
            # Spark says that a batch is done once there is another. Without one, its start would be
            # kept from deletion until then.
            pins.release_before(start["version"], start["pin"])
            return start

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Tasks of one batch."""
        if start == end:
            return []
        with self._meta() as (client, pins):
            self._hold(pins, start)
            if "files" in start:
                files = self._files_at(client, start["version"])[start["files"] : end.get("files")]
            else:
                files = self._added(client, start).files(end["version"])
            columns = self._columns()
            return pack(files, columns, self._options.partition_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task's files."""
        if isinstance(partition, SlicePartition):
            yield from read_slices(partition.slices, self._columns(), self._bounds, self._schema)

    def commit(self, end: Offset) -> None:
        """Give up the pins that are behind."""
        if self._pins is not None:
            self._pins.release_before(end["version"], end["pin"])

    def stop(self) -> None:
        """Close the connection. The pins stay for a reader that continues from the checkpoint."""
        if self._pins is not None and self._client is not None:
            self._pins.close()
            self._client.close()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The limit of a batch that was asked for."""
        options = self._options
        if options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(options.max_bytes_per_trigger)
        return ReadMaxFiles(options.max_files_per_trigger or FILES_PER_TRIGGER)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Read no further than today's version."""
        with self._meta() as (client, _):
            self._until = current_version(client, self._options.dataset)

    def _start(self) -> tuple[int | None, bool]:
        """The version that a new stream begins at, None = the current one; with its records."""
        starting = self._options.starting_version
        if starting is None:
            return None, True
        if starting == LATEST:
            return None, False
        if not starting.isascii() or not starting.isdigit() or int(starting) < 1:
            raise ReadError(
                f"startingVersion is {starting!r}, expected 'latest' or a number from 1"
            )
        return int(starting) - 1, False

    def _hold(self, pins: StreamPins, offset: Offset) -> pb.Pin:
        """Keep an offset's files. Raises PinLost, ReadError for another dataset of the name."""
        check_same(offset["dataset"], self._snapshot.dataset_id, self._options.dataset)
        return pins.hold(offset["pin"], offset["version"])

    def _files_at(self, client: MetaClient, version: int) -> tuple[DatasetFile, ...]:
        """The files of a version, in the same order every time."""
        if self._files is None or self._files[0] != version:
            signals = signals_of(self._options.signal)
            name = self._options.dataset
            self._files = version, find_readable(client, name, version, signals, self._bounds)
        return self._files[1]

    def _added(self, client: MetaClient, start: Offset) -> AddedFiles:
        signals = signals_of(self._options.signal)
        return AddedFiles(
            client, start, self._options.dataset, signals, self._bounds, self._snapshot.promoted
        )

    @contextmanager
    def _meta(self) -> Iterator[tuple[MetaClient, StreamPins]]:
        """The connection and the pins of the stream, opened at the first call."""
        if self._client is None or self._pins is None:
            self._client = self._options.client()
            self._pins = StreamPins(self._client, self._options)
            # Releases the pin of the schema, which has been read.
            self._pins.release(self._snapshot.pin_id)
        with meta_refusals(self._client):
            yield self._client, self._pins

    def _columns(self) -> ReadColumns:
        return self._snapshot.columns(self._options.signal, self._schema.names)


def _offset(pin: pb.Pin, files: int | None = None) -> Offset:
    offset: Offset = {"dataset": pin.dataset_id, "version": pin.version, "pin": pin.id}
    return offset if files is None else {**offset, "files": files}


def _fixed_bounds(options: SourceOptions) -> TimeBounds:
    """Bounds of time that a restarted stream has too."""
    for text in filter(None, (options.start, options.end)):
        with suppress(ValueError):
            if parse_time(text, _ANY_TIME) != parse_time(text, datetime.now(UTC)):
                raise ReadError(f"a stream's start and end are times: {text!r} is an age")
    return options.bounds()
