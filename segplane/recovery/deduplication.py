"""Claims the deduplication keys that are rows of a dataset without them.

They are rows from before the setting, or of a catalog that was rebuilt or has got segments back.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2, nursery_pb2
from meta.v1 import operations_pb2 as pb

if TYPE_CHECKING:
    import pyarrow as pa

# A call holds up the registrations of the dataset for about a second.
CHUNK = 50_000


class NoDeduplication(Exception):
    """Each record of the dataset is a row; the message is one line."""


@dataclass(slots=True)
class RowEvents:
    """Rows with a key that were read, and deduplication keys that were not claimed before."""

    rows: int = 0
    claimed: int = 0


def claim_rows(client: MetaClient, address: str, name: str) -> RowEvents:
    """Read the log records of a dataset's window, and claim their deduplication keys.

    A repetition claims nothing. Raises NoDeduplication, ReadError, MetaError.
    """
    # pyarrow is not part of the `cli` extra.
    from segplane.read import open_dataset
    from segplane.read.lookup import settings_at

    dataset_id = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name)).id
    settings = settings_at(client, dataset_id, None)
    if not settings.HasField("deduplication"):
        raise NoDeduplication(
            f"dataset {name!r} is not deduplicated: see `segplane datasets deduplication`"
        )
    deduplication, events, days = settings.deduplication, RowEvents(), dict[bytes, int]()
    columns = list(dict.fromkeys(("timestamp", deduplication.column)))
    start = f"{deduplication.window_days}d"
    with open_dataset(name, "logs", start, columns=columns, meta_address=address) as dataset:
        for batch in dataset.to_reader():
            events.rows += _add(days, batch, deduplication.column)
            if len(days) >= CHUNK:
                events.claimed += _claim(client, dataset_id, deduplication, days)
                days.clear()
    events.claimed += _claim(client, dataset_id, deduplication, days)
    return events


def _add(days: dict[bytes, int], batch: pa.RecordBatch, column: str) -> int:
    import pyarrow as pa

    from dataplane.babies.deduplication import hashes_of
    from segments.parquet.lineage import day_of

    nanos = cast("Any", batch.column("timestamp").cast(pa.timestamp("ns", "UTC"))).cast(pa.int64())
    rows = 0
    for digest, time in zip(hashes_of(batch.column(column)), nanos.to_pylist(), strict=True):
        if digest is not None:
            rows += 1
            days.setdefault(digest, day_of(time))
    return rows


def _claim(
    client: MetaClient,
    dataset_id: str,
    deduplication: common_pb2.Deduplication,
    days: dict[bytes, int],
) -> int:
    if not days:
        return 0
    by_day = groupby(sorted(days.items(), key=lambda item: item[1]), key=lambda item: item[1])
    deduplication_keys = nursery_pb2.DeduplicationKeys(
        rule=deduplication.rule,
        days=[
            nursery_pb2.DayKeys(day=day, hashes=b"".join([digest for digest, _ in day_events]))
            for day, day_events in by_day
        ],
    )
    request = pb.ClaimEventsRequest(dataset_id=dataset_id, deduplication_keys=deduplication_keys)
    return client.operations.ClaimEvents(request).claimed
