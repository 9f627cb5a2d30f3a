"""Datasets and their segments on the command line: figures, suggestions, whole lists."""

import json

import pytest

from meta.client import MetaClient
from tests.support.command_line import RunCommand
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import Writer

SEGMENTS = 2_300
PER_CALL = 100
# Commands that name a dataset.
COMMANDS = (
    ("datasets", "show", "chekout"),
    ("datasets", "retention", "chekout"),
    ("datasets", "columns", "chekout"),
    ("datasets", "usage", "chekout"),
    ("datasets", "delete", "chekout"),
    ("segments", "find", "--dataset", "chekout"),
    ("tokens", "create", "web", "--dataset", "chekout"),
    ("tasks", "list", "--dataset", "chekout"),
    ("tasks", "explain", "--dataset", "chekout"),
    ("stats", "--dataset", "chekout"),
)


@pytest.fixture
def dataset(meta_client: MetaClient) -> str:
    return CatalogDriver(meta_client).dataset("checkout")


def save_segments(client: MetaClient, dataset: str, count: int) -> None:
    for _ in range(0, count, PER_CALL):
        Writer(client).save_many(dataset, PER_CALL)


def test_urls_and_json_are_printed_to_the_last_segment(
    run: RunCommand, meta_client: MetaClient, dataset: str
) -> None:
    save_segments(meta_client, dataset, SEGMENTS)

    urls = run("segments", "find", "--urls")
    as_json = run("segments", "find", "--json")
    some = run("segments", "find", "--urls", "--limit", "1500")

    assert len(set(urls.stdout.splitlines())) == SEGMENTS
    assert len({segment["id"] for segment in json.loads(as_json.stdout)}) == SEGMENTS
    assert (urls.stderr, as_json.stderr) == ("", "")
    assert len(some.stdout.splitlines()) == 1500
    assert some.stderr == "stopped after 1500 segments: --limit prints more\n"


def test_a_table_that_does_not_hold_all_segments_says_so(
    run: RunCommand, meta_client: MetaClient, dataset: str
) -> None:
    save_segments(meta_client, dataset, 1000)

    whole = run("segments", "find")
    save_segments(meta_client, dataset, 100)
    cut = run("segments", "find")

    assert len(whole.stdout.splitlines()) == len(cut.stdout.splitlines()) == 1001
    assert (whole.stderr, cut.stderr) == ("", "stopped after 1000 segments: --limit prints more\n")


def test_an_unknown_dataset_is_answered_with_the_one_that_was_meant(
    run: RunCommand, dataset: str
) -> None:
    meant = "error: there is no dataset 'chekout': did you mean 'checkout'? (NOT_FOUND)\n"
    for command in COMMANDS:
        done = run(*command)

        assert (done.exit_code, done.stderr) == (1, meant), command


def test_a_name_that_resembles_no_dataset_is_answered_with_the_command_that_lists_them(
    run: RunCommand, dataset: str
) -> None:
    done = run("datasets", "show", "zzz")

    advice = "there is no dataset 'zzz': `segplane datasets list` lists them"
    assert done.stderr == f"error: {advice} (NOT_FOUND)\n"


def test_an_unknown_command_is_answered_with_the_one_that_was_meant(run: RunCommand) -> None:
    done = run("segmnts", "find")

    assert done.exit_code == 2
    assert "Did you mean 'segments'?" in done.stderr


def test_a_unit_of_times_is_set_and_reverted(run: RunCommand, dataset: str) -> None:
    changed = run("datasets", "columns", "checkout", "--timestamp-unit", "ms").stdout
    taken_back = run("datasets", "columns", "checkout", "--timestamp-unit", "guess").stdout

    assert ["timestamp", "unit", "ms"] in [line.split() for line in changed.splitlines()]
    assert "timestamp unit" not in taken_back


def test_a_dataset_is_shown_with_its_figures(
    run: RunCommand, meta_client: MetaClient, dataset: str
) -> None:
    Writer(meta_client).save_many(dataset, 3)
    run("datasets", "limits", "checkout", "--records-per-month", "1000")

    text = run("datasets", "show", "checkout").stdout
    shown = json.loads(run("datasets", "show", "checkout", "--json").stdout)

    facts = dict(line.split("  ", 1) for line in text.splitlines())
    figures = {name: value.strip() for name, value in facts.items()}
    assert (figures["id"], figures["segments"], figures["size"]) == (dataset, "3", "14.6 KiB")
    assert figures["records a month"] == "1000"
    assert (shown["id"], shown["name"]) == (dataset, "checkout")
    assert (shown["stats"]["segment_count"], shown["usage"]["limit"]) == ("3", "1000")


def test_automatic_columns_are_switched_and_their_keys_replaced(
    run: RunCommand, dataset: str
) -> None:
    keys = ("--automatic-key", "user.id", "--automatic-key", "a:b:long")
    command = ("datasets", "columns", "checkout")
    changed = run(*command, "--automatic-columns", "on", *keys).stdout
    off = run(*command, "--automatic-columns", "off").stdout
    replaced = run(*command, "--automatic-key", "status:long").stdout

    def facts(text: str) -> list[list[str]]:
        return [line.split()[2:] for line in text.splitlines() if line.startswith("automatic")]

    assert facts(changed) == [["on"], ["a:b:long", "user.id:string"]]
    assert facts(off) == [["off"], ["a:b:long", "user.id:string"]]
    assert facts(replaced) == [["off"], ["status:long"]]
