"""Jobs in Spark's own event log."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LoggedJob:
    """A job that has ended: the group and the description that its task gave it."""

    group: str
    description: str
    is_successful: bool


def event_log_conf(folder: Path) -> str:
    """Properties that have Spark write plain event logs to a folder."""
    plain = "spark.eventLog.compress=false,spark.eventLog.rolling.enabled=false"
    return f"spark.eventLog.enabled=true,spark.eventLog.dir={folder.as_uri()},{plain}"


def jobs_of(folder: Path) -> dict[str, list[LoggedJob]]:
    """Jobs with a description, by the application that they were jobs of."""
    logs = {path.name.partition(".")[0]: path for path in folder.iterdir() if path.is_file()}
    return {application: _jobs(path) for application, path in logs.items()}


def _jobs(path: Path) -> list[LoggedJob]:
    properties: dict[int, Mapping[str, str]] = {}
    jobs = []
    for line in path.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart":
            properties[event["Job ID"]] = event["Properties"]
        elif event["Event"] == "SparkListenerJobEnd":
            job = properties[event["Job ID"]]
            if group := job.get("spark.jobGroup.id"):
                result = event["Job Result"]["Result"]
                jobs.append(
                    LoggedJob(group, job["spark.job.description"], result == "JobSucceeded")
                )
    return jobs
