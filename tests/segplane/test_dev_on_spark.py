"""`segplane dev` and `segplane demo` with their defaults: Spark runs every task."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from dataplane.readiness import is_serving
from meta.client import MetaClient
from meta.v1 import janitor_pb2, segment_lookup_pb2
from meta.v1.common_pb2 import SegmentInfo
from segments.keys import join_key
from segplane.stack.config import StackSettings
from segplane.stack.dev import Stack
from segplane.stack.preflight import claim_ports
from tests.support.data_folders import stack_settings
from tests.support.event_log import LoggedJob, event_log_conf, jobs_of
from tests.support.process_tree import children_of, command_of
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
_APPLICATION = re.compile(r"pipeline: Spark 4\.\S+, application (local-\d+), master local\[\d+\]")
_WITH_UI = re.compile(rf"{_APPLICATION.pattern}, UI at (\S+)")
_PORTS = ("--meta-port", "--otlp-grpc-port", "--otlp-http-port", "--gateway-port")


def default_environment(folder: Path, **changes: str) -> dict[str, str]:
    """The environment without a choice of a master, and with an event log of Spark."""
    inherited = {n: v for n, v in os.environ.items() if not n.endswith("SPARK_MASTER")}
    return inherited | {"SEGPLANE_SPARK_CONF": event_log_conf(folder)} | changes


@pytest.fixture
def event_logs(tmp_path: Path) -> Path:
    folder = tmp_path / "events"
    folder.mkdir()
    return folder


class Dev:
    """A running `segplane dev`."""

    def __init__(self, settings: StackSettings, event_logs: Path, **changes: str) -> None:
        ports = claim_ports(dict.fromkeys(_PORTS, 0))
        self.meta_address = f"127.0.0.1:{ports['--meta-port']}"
        self.output = settings.data_dir.parent / "dev.log"
        options = [text for name, port in ports.items() for text in (name, str(port))]
        command = ["dev", "--unsafe-short-grace", "--data-dir", str(settings.data_dir), *options]
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "segplane", *command],
                stdout=output,
                stderr=output,
                env=default_environment(event_logs, META_MERGE_FILES_MAX="2", **changes),
            )
        self._data_dir = settings.data_dir

    def says(self, text: str) -> bool:
        assert self.process.poll() is None, self.output.read_text()
        return text in self.output.read_text()

    def application(self) -> tuple[str, str]:
        """The id of its one application of Spark, and the address of the UI."""
        (announced,) = _WITH_UI.findall(self.output.read_text())
        return announced[0], announced[1]

    def segments(self) -> list[SegmentInfo]:
        """The segments of its catalog."""
        with MetaClient(self.meta_address) as client:
            return list(segments_of(client))

    def send(self) -> None:
        """Send records, and wait until they are merged."""
        options = ["--count", "50", "--data-dir", str(self._data_dir)]
        address = ["--meta-address", self.meta_address]
        subprocess.run(
            [sys.executable, "-m", "segplane", "test-send", *options, *address],
            check=True,
            timeout=300,
        )


@contextmanager
def running_dev(settings: StackSettings, event_logs: Path, **changes: str) -> Iterator[Dev]:
    dev = Dev(settings, event_logs, **changes)
    try:
        wait_until(lambda: dev.says("Send OTLP to"), "dev is ready")
        yield dev
    finally:
        dev.process.terminate()
        dev.process.wait(60)


@pytest.mark.long
def test_dev_runs_every_task_of_its_catalog_as_a_job_of_one_spark_application(
    prepared: StackSettings, event_logs: Path
) -> None:
    with running_dev(prepared, event_logs) as dev:
        with MetaClient(dev.meta_address) as client:
            registered: list[SegmentInfo] = []

            def is_compacted() -> bool:
                dev.send()
                registered.extend(segments_of(client))
                return any(segment.merge_count for segment in registered)

            wait_until(is_compacted, "merges of both kinds")
            wait_until(lambda: not open_tasks(client), "no merge task is open")
        output = dev.output.read_text()
        (pipeline,) = (p for p in children_of(dev.process.pid) if "pipeline" in command_of(p))
        assert len([child for child in children_of(pipeline) if "java" in command_of(child)]) == 1

    announced = _APPLICATION.findall(output)
    assert announced
    assert_every_task_has_a_job(registered, jobs_of(event_logs), announced)


@pytest.mark.slow
def test_two_devs_on_one_machine_merge_the_records_of_each(
    cluster: Path, event_logs: Path, tmp_path: Path
) -> None:
    shared = {
        "SPARK_LOCAL_DIRS": str(tmp_path / "scratch"),
        "SEGPLANE_SPARK_UI_PORT": str(claim_ports({"--ui": 0})["--ui"]),
    }
    with ExitStack() as opened:
        folders = [opened.enter_context(stack_settings(cluster)) for _ in range(2)]
        first = opened.enter_context(running_dev(folders[0], event_logs, **shared))
        with running_dev(folders[1], event_logs, **shared) as second:
            devs = (first, second)
            for dev in devs:
                dev.send()
            applications = [dev.application() for dev in devs]
            for application_id, ui_url in applications:
                with urllib.request.urlopen(f"{ui_url}/api/v1/applications") as reply:
                    assert [entry["id"] for entry in json.load(reply)] == [application_id]
            registered = [dev.segments() for dev in devs]
        # Its scratch folder goes with the second, and nothing of the first.
        first.send()
        registered[0] = first.segments()

        assert first.application() == applications[0]
    for (application_id, _), segments, sent in zip(
        applications, registered, (100, 50), strict=True
    ):
        jobs = {application_id: jobs_of(event_logs)[application_id]}
        assert_every_task_has_a_job(segments, jobs, [application_id])
        assert sum(segment.number_of_events for segment in segments) == sent
    assert not {s.dataset_id for s in registered[0]} & {s.dataset_id for s in registered[1]}


@pytest.mark.slow
def test_the_demo_runs_every_task_of_its_catalog_as_a_job_of_one_spark_application(
    prepared: StackSettings, event_logs: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "segplane", "demo", "--data-dir", str(prepared.data_dir)],
        capture_output=True,
        text=True,
        check=False,
        env=default_environment(event_logs),
    )

    assert done.returncode == 0, done.stdout + done.stderr
    with Stack(prepared, print, parts=()) as stack, stack.connect() as client:
        registered = list(segments_of(client))
    assert any(segment.merge_count for segment in registered)
    announced = _APPLICATION.findall(done.stdout)
    assert_every_task_has_a_job(registered, jobs_of(event_logs), announced)


def segments_of(client: MetaClient) -> Sequence[SegmentInfo]:
    request = segment_lookup_pb2.FindSegmentsRequest()
    return client.segment_lookup.FindSegments(request).segments


def open_tasks(client: MetaClient) -> bool:
    return bool(client.janitor.ListMergeTasks(janitor_pb2.ListMergeTasksRequest()).tasks)


def assert_every_task_has_a_job(
    registered: Sequence[SegmentInfo],
    applications: dict[str, list[LoggedJob]],
    announced: Sequence[str],
) -> None:
    """Find a successful job for each segment that the catalog has registered."""
    assert list(applications) == list(announced[:1]), "one application, which was announced"
    (jobs,) = applications.values()
    done = [job for job in jobs if job.is_successful]
    # A merged object lies below its task's id and attempt, as the job's group has them.
    merges = {job.group.removeprefix("merge-"): job for job in done if "merge-" in job.group}
    for segment in (s for s in registered if s.merge_count):
        where = segment.cloud_object_key
        job = merges[join_key(where.prefix.prefix, where.key).split("/")[-2]]
        assert f"dataset {segment.dataset_id}" in job.description
    # A nursery registers what a cycle has merged of a dataset at one version.
    fresh = [segment for segment in registered if not segment.merge_count]
    nursery = [job.description for job in done if job.group.startswith("nursery-")]
    for dataset_id in {segment.dataset_id for segment in fresh}:
        versions = {s.created_version for s in fresh if s.dataset_id == dataset_id}
        assert len(versions) <= sum(dataset_id in description for description in nursery)


@pytest.mark.long
def test_without_java_dev_and_demo_end_in_one_line_before_they_make_anything(
    settings: StackSettings, tmp_path: Path
) -> None:
    for command in ("dev", "demo"):
        done = subprocess.run(
            [sys.executable, "-m", "segplane", command, "--data-dir", str(settings.data_dir)],
            capture_output=True,
            text=True,
            check=False,
            env=default_environment(tmp_path, JAVA_HOME="/nonexistent"),
        )

        assert done.returncode == 2
        assert done.stderr.startswith("error: no java found in /nonexistent: install Java 17")
        assert done.stderr.endswith(
            "or set SEGPLANE_SPARK_MASTER=processes, which runs tasks without Spark\n"
        )
        assert done.stderr.count("\n") == 1
        assert not settings.data_dir.exists() or not any(settings.data_dir.iterdir())


@pytest.mark.long
def test_without_java_dev_runs_its_tasks_in_processes_if_it_is_told_to(
    prepared: StackSettings,
) -> None:
    lines: list[str] = []
    inherited = {**prepared.inherited, "JAVA_HOME": "/nonexistent"}
    chosen = {**inherited, "SEGPLANE_SPARK_MASTER": "processes"}
    with Stack(replace(prepared, inherited=chosen), lines.append, parts=("pipeline",)) as stack:
        text = "pipeline: tasks run without Spark, in processes["
        wait_until(
            lambda: any(line.startswith(text) for line in lines), "it says so", tick=stack.check
        )
        assert is_serving(stack.settings.meta_address)
