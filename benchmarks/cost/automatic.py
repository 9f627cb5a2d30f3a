"""Automatic columns of the dataset: those that meta would choose, in all of its segments."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from uuid import uuid4

from benchmarks.cost.load import payloads
from benchmarks.cost.questions import DATASET
from benchmarks.cost.stack import DRAIN_SECS_MAX, CostStack, since
from benchmarks.harness.waiting import wait_until
from meta.planning.column_choice import (
    DAY_HOURS,
    PERIOD_HOURS,
    Column,
    CurrentColumns,
    SignalSums,
    choose,
)
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as ops
from segments.attribute_counts import AttributeCounts
from segments.otlp.counted_attributes import count_attributes
from segments.otlp.decode import decode
from segments.signals import Signal
from segplane.read import open_dataset

EXPORTS_COUNTED = 60
_SIGNALS: tuple[Signal, ...] = ("logs", "traces")
_TYPES = {"string": common_pb2.KQL_TYPE_STRING, "long": common_pb2.KQL_TYPE_LONG}


def chosen_columns(path: Path) -> tuple[Column, ...]:
    """The columns that meta would choose after a day of such records."""
    counts = AttributeCounts()
    for number, payload in islice(payloads(path), EXPORTS_COUNTED):
        signal = _SIGNALS[number]
        for lists in decode(signal, [payload], [0]).attributes:
            counts.add(count_attributes(signal, lists))
    sums = {
        number: SignalSums(own.records, dict(own.attributes))
        for number, own in enumerate(counts.most_frequent())
    }
    hour = 100 * PERIOD_HOURS
    return choose({hour: sums, hour - DAY_HOURS - PERIOD_HOURS: {}}, hour, CurrentColumns())


def write_columns(cost: CostStack, columns: tuple[Column, ...]) -> tuple[float, int]:
    """Switch them on and rewrite all segments; returns seconds of CPU, and bytes of segments."""
    before = cost.clocks.read()
    listed = [
        common_pb2.AutomaticColumn(attribute=attribute, type=_TYPES[kql_type], written=True)
        for attribute, kql_type in columns
    ]
    dataset_id = cost.client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=DATASET)).id
    settings = ops.DatasetSettings(
        automatic_columns=ops.AutomaticColumns(enabled=True, columns=listed)
    )
    cost.client.operations.SetDatasetSettings(
        ops.SetDatasetSettingsRequest(dataset_id=dataset_id, settings=settings)
    )
    job = ops.CreateRewriteJobRequest(id=str(uuid4()), dataset_id=dataset_id)
    cost.client.operations.CreateRewriteJob(job)
    wait_until(
        lambda: _is_rewritten(cost), "the rewrite", seconds=DRAIN_SECS_MAX, tick=cost.rest_a_while
    )
    used = since(cost.clocks.read(), before)
    with open_dataset(DATASET, meta_address=cost.stack.settings.meta_address) as dataset:
        return sum(used.values()), sum(file.size_bytes for file in dataset.files())


def _is_rewritten(cost: CostStack) -> bool:
    jobs = cost.client.operations.ListRewriteJobs(ops.ListRewriteJobsRequest()).rewrites
    return all(job.state == ops.REWRITE_JOB_STATE_DONE for job in jobs)
