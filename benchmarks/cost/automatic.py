"""Automatic columns over all attributes of the dataset's records, in all of its segments."""

from __future__ import annotations

from uuid import uuid4

from benchmarks.cost.questions import DATASET
from benchmarks.cost.stack import DRAIN_SECS_MAX, CostStack, since
from benchmarks.harness.waiting import wait_until
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as ops
from segplane.read import open_dataset

# Every attribute of records: those of few values, and one that differs in each record.
COLUMNS = (
    ("http.route", "string"),
    ("http.response.status_code", "long"),
    ("user.id", "string"),
    ("request.id", "string"),
    ("http.request.method", "string"),
    ("thread.name", "string"),
    ("code.function.name", "string"),
    ("net.peer.name", "string"),
)
_TYPES = {"string": common_pb2.KQL_TYPE_STRING, "long": common_pb2.KQL_TYPE_LONG}


def write_columns(cost: CostStack) -> tuple[float, int]:
    """Switch them on and rewrite all segments; returns seconds of CPU, and bytes of segments."""
    before = cost.clocks.read()
    listed = [
        common_pb2.AutomaticColumn(attribute=attribute, type=_TYPES[kql_type], written=True)
        for attribute, kql_type in COLUMNS
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
