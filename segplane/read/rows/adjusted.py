"""Times of records with the adjustment of their dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from segments.parquet.columns.stored_times import join_time, split_time
from segments.parquet.schema import TIMESTAMP, time_columns
from segplane.read.bounds import NANOS_MAX, NANOS_MIN
from segplane.read.errors import ReadError
from segplane.read.pins import VersionPin
from segplane.read.rows.arrow_source import SegmentsDataset
from segplane.read.rows.columns import ReadColumns

_NANOS_PER_MICRO = 1_000


def adjusted_times(columns: ReadColumns, names: Iterable[str]) -> dict[str, str]:
    """Return the times to adjust for some columns, each with the column of its nanoseconds."""
    remainders, needed = columns.stored.remainders, set(names)
    return {
        time: remainders[time]
        for time in time_columns()
        if time in remainders and not needed.isdisjoint((time, remainders[time]))
    }


def with_nanoseconds(columns: ReadColumns, names: Sequence[str]) -> list[str]:
    """Return columns, and the times and nanoseconds that are read to adjust them."""
    times = adjusted_times(columns, names)
    return list(dict.fromkeys((*names, *times, *times.values())))


def adjusted_batch(batch: pa.RecordBatch, columns: ReadColumns, nanos: int) -> pa.RecordBatch:
    """Add nanoseconds to the times of a batch. Raises ReadError beyond 64 bits."""
    for name, remainder in adjusted_times(columns, batch.schema.names).items():
        times = join_time(batch[name], batch[remainder], name).cast(pa.int64())
        try:
            times = pc.add_checked(times, nanos).cast(TIMESTAMP)
        except pa.ArrowInvalid:
            raise ReadError(_beyond(name)) from None
        for column, values in zip((name, remainder), split_time(times), strict=True):
            index = batch.schema.get_field_index(column)
            batch = batch.set_column(index, batch.schema.field(index), values)
    return batch


def adjusted_table(rows: pa.Table, columns: ReadColumns, nanos: int) -> pa.Table:
    """Add nanoseconds to the times of some rows. Raises ReadError beyond 64 bits."""
    batches = [adjusted_batch(batch, columns, nanos) for batch in rows.to_batches()]
    return pa.Table.from_batches(batches, rows.schema)


def adjusted_dataset(
    source: SegmentsDataset, columns: ReadColumns, pin: VersionPin, nanos: int
) -> SegmentsDataset:
    """Return the rows of a source with nanoseconds added to their times."""
    return SegmentsDataset(columns, (), (), pin, partial(_batches, source, columns, nanos))


def _batches(
    source: SegmentsDataset, columns: ReadColumns, nanos: int, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    for batch in source.scanner(with_nanoseconds(columns, names)).to_batches():
        yield adjusted_batch(batch, columns, nanos).select(list(names))


def adjusted_sql(times: dict[str, str], nanos: int) -> str:
    """Return what replaces the times and nanoseconds of a table of DuckDB.

    A query that reads one beyond 64 bits fails; DuckDB's own times reach further.
    """
    micros, more = divmod(nanos, _NANOS_PER_MICRO)
    replaced = []
    for time, remainder in times.items():
        moved = f"epoch_us({time}) + {micros} + ({remainder} + {more}) // 1000"
        part = f"(({remainder} + {more}) % 1000)::INTEGER"
        is_beyond = (
            f"epoch_us({time})::HUGEINT * 1000 + {remainder} + {nanos}"
            f" NOT BETWEEN {NANOS_MIN} AND {NANOS_MAX}"
        )
        for name, value in ((time, f"make_timestamptz({moved})"), (remainder, part)):
            replaced.append(
                f"CASE WHEN {is_beyond} THEN error('{_beyond(time)}') ELSE {value} END AS {name}"
            )
    return ", ".join(replaced)


def _beyond(name: str) -> str:
    return f"a {name} with its adjustment is beyond 64 bits"
