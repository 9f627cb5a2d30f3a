"""Settings of workers as messages."""

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.store.workers.settings import WorkerSettings
from meta.v1 import common_pb2

DATASETS_MAX = 100
MIB = 1024 * 1024
# The least and the largest value of each field that is a number.
_BOUNDS = {
    "batch_bytes_max": (1, checks.INT64_MAX),
    "batch_babies_max": (1, 10_000),
    "decode_bytes_max": (1, checks.INT64_MAX),
    "task_bytes_max": (1, checks.INT64_MAX),
    "concurrent_tasks": (1, 1_024),
    "buffer_bytes_max": (MIB, checks.INT64_MAX),
    "flush_timeout_ms": (10, 600_000),
}


def message(settings: WorkerSettings) -> common_pb2.WorkerSettings:
    """Settings as their message."""
    given = settings.given()
    datasets = given.pop("dataset_ids", None)
    reply = common_pb2.WorkerSettings(**given)
    if datasets is not None:
        reply.datasets.ids.extend(datasets)
    return reply


def checked(sent: common_pb2.WorkerSettings) -> WorkerSettings:
    """The settings of a message within their bounds. Raises InvalidArgument."""
    values = {
        name: checks.count(getattr(sent, name), f"settings.{name}", low=low, high=high)
        for name, (low, high) in _BOUNDS.items()
        if sent.HasField(name)  # type: ignore[arg-type]
    }
    dataset_ids = None
    if sent.HasField("datasets"):
        if not sent.datasets.ids:
            raise InvalidArgument(
                "settings.datasets.ids is empty: a worker without datasets would do nothing",
                field="settings.datasets.ids",
            )
        checks.at_most(sent.datasets.ids, "settings.datasets.ids", DATASETS_MAX)
        ids = [str(checks.uuid(i, "settings.datasets.ids")) for i in sent.datasets.ids]
        dataset_ids = tuple(checks.distinct(ids, "settings.datasets.ids"))
    return WorkerSettings(**values, dataset_ids=dataset_ids)
