"""Metrics of the last run of fsck, as a text file for Prometheus' node exporter or Pushgateway."""

import time
from collections.abc import Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

REGISTRY = CollectorRegistry()
PROBLEMS = Gauge(
    "segplane_fsck_problems",
    "Problems that the last run of a check found: violation and not_known of the catalog; damaged"
    " and unread of data. Above 0: the output of segplane fsck names them.",
    ["check", "kind"],
    registry=REGISTRY,
)
FINISHED_AT = Gauge(
    "segplane_fsck_finished_timestamp_seconds",
    "Unix time of the end of the last run of a check. No rise: it does not run, or fails.",
    ["check"],
    registry=REGISTRY,
)


def write(path: Path, check: str, problems: Mapping[str, int]) -> None:
    """Replace a file by the problems of a check by kind; raises OSError.

    A reader sees the former file or the new one.
    """
    for gauge in (PROBLEMS, FINISHED_AT):
        gauge.clear()
    for kind, number in problems.items():
        PROBLEMS.labels(check, kind).set(number)
    FINISHED_AT.labels(check).set(time.time())
    write_to_textfile(str(path), REGISTRY)
