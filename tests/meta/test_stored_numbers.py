"""Numbers of states and kinds in the database, which rows of earlier releases have."""

import importlib
import pkgutil
from enum import IntEnum

import meta.store

STORED = {
    "JobState": {"RUNNING": 1, "PAUSED": 2, "DONE": 3, "CANCELLED": 4},
    "KeptFilesState": {"NONE": 0, "REQUESTED": 1, "NOTED": 2, "FORGOTTEN": 3},
    "LabelSource": {"LABEL": 0, "CONTEXT": 1},
    "LossKind": {"BABY": 1, "SEGMENT": 2, "PAYLOAD": 3},
    "ReplayState": {"BEGUN": 1, "REPLAYED": 2, "DROPPED": 3},
    "ResourceKind": {
        "DATASET": 1,
        "GROUP": 2,
        "SCHEMA": 3,
        "VIEW": 4,
        "PROJECTION": 5,
        "INGEST_TOKEN": 6,
    },
    "State": {"REGISTERED": 1, "CONDEMNED": 2, "DELETED": 3},
    "TaskKind": {"MERGE": 1, "REWRITE": 2},
    "TaskState": {"OPEN": 1, "COMPLETED": 2, "CANCELLED": 3, "SPLIT": 4},
}
# Numbers of the proto, in replies and in no row.
SENT = {"DeletionCause", "DeletionObstacle"}


def test_stored_numbers_keep_their_meaning() -> None:
    for module in pkgutil.walk_packages(meta.store.__path__, "meta.store."):
        importlib.import_module(module.name)
    kinds = [kind for kind in IntEnum.__subclasses__() if kind.__module__.startswith("meta.store.")]

    stored = [kind for kind in kinds if kind.__name__ not in SENT]
    assert {kind.__name__: {m.name: m.value for m in kind} for kind in stored} == STORED
