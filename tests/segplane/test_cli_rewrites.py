"""Rewrites on the command line: begin, list, pause, resume, bound, cancel, and formats left."""

import json

import pytest

from tests.support.command_line import RunCommand
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.rewrites import RewriteDriver
from tests.support.meta.segments import WorkerDriver, Writer
from tests.support.meta.server import MetaServer


@pytest.fixture
def rewrites(meta_server: MetaServer) -> RewriteDriver:
    dataset = CatalogDriver(meta_server.client).dataset("web")
    Writer(meta_server.client).save_many(dataset, 3)
    return RewriteDriver(meta_server.client, meta_server.running.database)


def begin(run: RunCommand, *options: str) -> dict[str, str]:
    result = run("tasks", "rewrite", "--dataset", "web", "--format", "2", "--json", *options)
    assert result.exit_code == 0, result.stderr
    shown: dict[str, str] = json.loads(result.stdout)
    return shown


def test_a_rewrite_begins_and_is_listed_with_its_progress(
    run: RunCommand, rewrites: RewriteDriver
) -> None:
    job = begin(run, "--since", "2020-01-01", "--tasks-max", "2", "--mib-per-sec", "1.5")

    (listed,) = json.loads(run("rewrites", "list", "--dataset", "web", "--json").stdout)
    table = run("rewrites", "list").stdout.splitlines()

    assert listed["id"] == job["id"]
    assert (listed["segments_total"], listed["tasks_max"]) == ("3", 2)
    assert (listed["bytes_per_sec"], listed["format_version"]) == ("1572864", 2)
    assert table[1].split()[:5] == [job["id"], "web", "running", "2", "0"]


def test_a_rewrite_is_paused_resumed_bounded_and_cancelled(
    run: RunCommand, rewrites: RewriteDriver
) -> None:
    job_id = begin(run)["id"]

    states = [
        json.loads(run("rewrites", "update", job_id, "--state", state, "--json").stdout)["state"]
        for state in ("paused", "running", "cancelled")
    ]
    bounded = run("rewrites", "update", job_id, "--tasks-max", "1")
    refused = run("rewrites", "update", job_id, "--state", "running")

    assert [state.rpartition("_")[2] for state in states] == ["PAUSED", "RUNNING", "CANCELLED"]
    assert bounded.exit_code == 0
    assert refused.exit_code == 1
    assert refused.stderr == "error: the rewrite is cancelled already\n"


def test_a_second_rewrite_of_a_dataset_is_refused_in_one_line(
    run: RunCommand, rewrites: RewriteDriver
) -> None:
    begin(run)

    second = run("tasks", "rewrite", "--dataset", "web", "--job")
    without_dataset = run("tasks", "rewrite", "--job")

    assert second.exit_code == 1
    assert "not finished" in second.stderr
    assert second.stderr.count("\n") == 1
    assert without_dataset.exit_code == 2


def test_a_rewrite_at_once_works_as_before(run: RunCommand, rewrites: RewriteDriver) -> None:
    result = run("tasks", "rewrite", "--dataset", "web")

    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "3 segments, a task each"
    assert rewrites.list() == []


def lines(run: RunCommand) -> list[list[str]]:
    return [line.split() for line in run("datasets", "show", "web").stdout.splitlines()]


def test_formats_that_are_left_are_shown_with_the_dataset(
    run: RunCommand, rewrites: RewriteDriver
) -> None:
    job_id = begin(run)["id"]
    before = lines(run)
    (job,) = rewrites.list()
    worker = WorkerDriver(rewrites.client)
    rewrites.finish(job, lambda: worker.merge_all(format_version=2))

    after = lines(run)
    as_json = json.loads(run("datasets", "show", "web", "--json").stdout)

    assert job.id == job_id
    assert ["format", "not", "known", "3", "segments"] in before
    assert ["format", "2", "3", "segments"] in after
    (count,) = as_json["formats"]["formats"]
    assert (count["format_version"], count["segments"]) == (2, "3")


def test_progress_is_printed_until_the_end(run: RunCommand, rewrites: RewriteDriver) -> None:
    run("rewrites", "list")
    empty = CatalogDriver(rewrites.client).dataset("empty")
    job = rewrites.create(empty)
    rewrites.advance(job)

    result = run("rewrites", "show", job.id, "--follow")

    assert result.exit_code == 0
    assert result.stderr == "done: 0 of 0 segments, 100 % of 0 B, left: -\n"
