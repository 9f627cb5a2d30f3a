"""An installation of 0.2.0 goes through 0.3.0 to this release: rows, replies, records are equal."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from meta import config, migrations
from meta.process.environment import Environment
from meta.server import server
from meta.store.engine.pool import Database, DatabaseSettings
from segplane.__main__ import app
from tests.releases import recorded_replies, recorded_run
from tests.releases.recorded_run import ADMIN, installation
from tests.support.releases.client import DescribedClient
from tests.support.releases.processes import run_command
from tests.support.releases.records import acknowledged, merged, read
from tests.support.releases.release import RELEASE_BEFORE, Release, needs_release
from tests.support.releases.rows import columns_of, explicit, implied, rows_of

FIRST = Release("0.2.0")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.releases,
    pytest.mark.database_owner,
    needs_release,
]


@pytest.fixture
def recorded() -> Release:
    """Give 0.2.0."""
    return FIRST


def test_every_row_goes_through_both_migrations(database_url: str) -> None:
    columns = columns_of(database_url)
    before = rows_of(database_url, columns)

    run_command(RELEASE_BEFORE, "migrate", "--database-url", database_url)
    between = rows_of(database_url, columns)
    today = Database(DatabaseSettings(url=database_url))
    migrations.upgrade(today)
    today.close()

    assert len(before["segments"]) > 20
    assert between == before
    assert rows_of(database_url, columns) == before


def test_every_reply_and_record_goes_through_both_releases(
    database_url: str, objects: Path
) -> None:
    with installation(RELEASE_BEFORE, database_url, objects.parent) as between:
        _check_replies(between.address)
        between.command("fsck", "--deep")
        between.meta.stop()

    settings = recorded_run.meta_settings(database_url, objects)
    today = server.start(config.load(Environment("META_", settings)))
    try:
        address = f"127.0.0.1:{today.port}"
        _check_replies(address)
        for dataset in ("web", "orders"):
            sent = acknowledged(FIRST, dataset)
            assert read(address, ADMIN, dataset, is_fresh=True) == sent
            assert read(address, ADMIN, dataset, is_fresh=False) == merged(sent)
        checked = CliRunner().invoke(
            app,
            ["fsck", "--data"],
            env={"SEGPLANE_META_ADDRESS": address, "SEGPLANE_META_AUTH_TOKEN": ADMIN},
        )
        assert checked.exit_code == 0, checked.output
    finally:
        today.stop(2.0)


def _check_replies(address: str) -> None:
    lines = (FIRST.fixtures / "replies.jsonl").read_text().splitlines()
    calls = [json.loads(line) for line in lines]
    assert len(calls) > 40
    with DescribedClient(FIRST, address, ADMIN) as client:
        for call in calls:
            reply = recorded_replies.ask(client, call["method"], call["request"])
            if call["method"] == "NurseryService.GetIngestStreamsForNursery":
                pairs = zip(implied(reply), implied(call["reply"]), strict=True)
                assert all(now >= before for now, before in pairs)
            assert explicit(reply) == explicit(call["reply"]), call["method"]
