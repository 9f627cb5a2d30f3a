"""Processes of the release before beside those of today: one database, one bucket."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.releases.recorded_catalog import Tokens
from tests.releases.recorded_run import (
    ADMIN,
    EVERYTHING,
    Installation,
    Sender,
    installation,
    wait_until_merged,
)
from tests.support.meta.server import MetaServer
from tests.support.releases.client import DescribedClient
from tests.support.releases.records import acknowledged, read
from tests.support.releases.release import RELEASE_BEFORE, needs_release

pytestmark = [
    pytest.mark.slow,
    pytest.mark.releases,
    pytest.mark.database_owner,
    needs_release,
]
# Labels of records, as parts of their ids.
LABELS = ("old-to-new", "new-to-old")


@pytest.fixture
def before(database_url: str, objects: Path) -> Iterator[Installation]:
    """Run the release before over its recorded database."""
    with installation(RELEASE_BEFORE, database_url, objects.parent) as run:
        assert run.meta.port
        yield run


# `before` starts first: meta of today migrates a database that it serves.
def test_records_come_through_processes_of_both_releases(
    before: Installation, meta_server: MetaServer, tokens: Tokens
) -> None:
    expected = Counter(record.id for record in acknowledged(RELEASE_BEFORE, "web").elements())
    old_collector = before.start_collector(
        tokens.access["ingest"], "collector-4", META_ADDRESS=meta_server.address
    )
    today = replace(before, python=Path(sys.executable))
    new_collector = today.start_collector(tokens.access["ingest"], "collector-5")
    for collector, label in zip((old_collector, new_collector), LABELS, strict=True):
        Sender(before, collector, tokens.ingest["frontend"], EVERYTHING).send(label, 6)
    expected.update(row["id"] for row in before.sent)

    assert _read_before(before) == expected
    assert _read_today(meta_server, is_fresh=True) == expected
    for collector in (old_collector, new_collector):
        collector.stop()
    _merge(before, meta_server, tokens)
    assert _read_before(before) == expected
    assert _read_today(meta_server, is_fresh=False) == expected
    before.meta.stop()


def _merge(before: Installation, meta_server: MetaServer, tokens: Tokens) -> None:
    """Let the other processes of the release before work for today's meta."""
    today, access = {"META_ADDRESS": meta_server.address}, tokens.access
    pace = {"INTERVAL_SECS": "0.2", "SPARK_MASTER": "local[1]", **today}
    nursery = before.start("nursery", access["nursery"], WAIT_SECS="0.2", **pace)
    worker = before.start("merge_worker", access["merge"], **pace)
    janitor = before.start("janitor", access["janitor"], MERGE_INTERVAL_SECS="0.5", **today)
    with DescribedClient(RELEASE_BEFORE, meta_server.address, ADMIN) as admin:
        wait_until_merged(admin)
    worker.wait_for("merge_task_completed")
    before.load_table(access["gateway"], "web", **today)
    for process in (janitor, nursery, worker):
        process.stop()


def _read_before(before: Installation) -> Counter[str]:
    """Read ids of records, a promoted column, by the release's command line from its own meta."""
    ids: Counter[str] = Counter()
    for signal in EVERYTHING:
        options = ("--signal", signal, "--columns", "record")
        output = before.command(
            "read", "web", "--fresh", "--format", "json", "--output", "-", *options
        )
        ids.update(json.loads(line)["record"] for line in output.splitlines())
    return ids


def _read_today(meta_server: MetaServer, *, is_fresh: bool) -> Counter[str]:
    records = read(meta_server.address, ADMIN, "web", is_fresh=is_fresh)
    return Counter(record.id for record in records.elements())
