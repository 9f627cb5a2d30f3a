"""A dataset with a time adjustment, and times as readers give them."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.dataset_life import set_settings

# Not whole microseconds, so that the columns of nanoseconds change too.
NANOS = -(90 * 60 * 10**9) - 1_234_567_891
TIMES = ("timestamp", "observed_timestamp", "start_timestamp", "end_timestamp")


def adjust(client: MetaClient, dataset: str, nanos: int = NANOS) -> None:
    """Set the adjustment of a dataset."""
    set_settings(client, dataset, pb.DatasetSettings(time_adjustment_nanos=nanos))


def written_times(segments: SegmentWriter, nanos: int = NANOS) -> list[int]:
    """Return the adjusted times of all records."""
    return sorted(time + nanos for _, time in segments.rows)


def nanos_of(table: pa.Table, name: str = "timestamp") -> list[int | None]:
    """Return the times of a column with the nanoseconds beside it."""
    micros = table[name].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    nanos = table[f"{name}_nanos"].to_pylist()
    pairs: Iterable[tuple[Any, Any]] = zip(micros, nanos, strict=True)
    return [None if time is None else time * 1_000 + part for time, part in pairs]
