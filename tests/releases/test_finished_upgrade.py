"""Metas of the release before, before and after `segplane migrate --finish`."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from meta.store.workers import servers
from tests.releases.recorded_run import ADMIN, Installation, installation, meta_settings
from tests.support.releases.processes import running
from tests.support.releases.release import RELEASE_BEFORE, needs_release
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.releases,
    pytest.mark.database_owner,
    needs_release,
]
# A meta looks every 30 s, and has a minute to stop.
STOP_SECS = 60.0


@pytest.fixture
def before(database_url: str, objects: Path) -> Iterator[Installation]:
    """Run meta of the release before over its recorded database."""
    with installation(RELEASE_BEFORE, database_url, objects.parent) as run:
        assert run.meta.port
        yield run


def finish(database_url: str) -> subprocess.CompletedProcess[str]:
    """Run `segplane migrate --finish` of today."""
    return subprocess.run(
        [sys.executable, "-m", "segplane", "migrate", "--finish"],
        env={**os.environ, "META_DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        check=False,
    )


def age_servers(database_url: str) -> None:
    """Let the metas that were seen have been seen long ago."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "UPDATE meta_servers SET seen_at = now() - make_interval(secs => %s)",
            (servers.SEEN_SECS + 60,),
        )


def is_noted(database_url: str) -> bool:
    with psycopg.connect(database_url, autocommit=True) as connection:
        rows = "SELECT count(*) FROM meta_servers WHERE seen_at > now() - interval '1 minute'"
        return connection.execute(rows).fetchone() != (0,)


def test_a_meta_of_the_release_before_is_refused_after_finish(
    before: Installation, database_url: str
) -> None:
    wait_until(lambda: is_noted(database_url), "its row is written")
    refused = finish(database_url)
    assert refused.returncode == 1, refused.stderr
    assert f"a meta of release {RELEASE_BEFORE.name} on " in refused.stderr
    assert refused.stderr.endswith("(UPGRADE_UNFINISHED)\n")
    # The migration itself is done, and the other meta works on.
    before.command("datasets", "list")
    with before.client(ADMIN) as admin:
        request = {"name": "made beside"}
        made = admin.call("CatalogService.CreateDataset", request)["id"]

    before.meta.stop()
    age_servers(database_url)
    done = finish(database_url)
    again = finish(database_url)

    assert done.returncode == again.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "the upgrade is finished"
    assert again.stdout.splitlines()[-1] == "the upgrade was finished before"
    settings = meta_settings(database_url, before.objects)
    with running(RELEASE_BEFORE.python, "meta", before.folder, **settings) as process:
        wait_until(lambda: any("needs release 0.4.0" in line for line in process.lines), "refusal")
    with psycopg.connect(database_url) as connection:
        # Its trigger has written the row of what the release before made.
        row = connection.execute("SELECT name FROM resources WHERE id = %s", (made,)).fetchone()
    assert row == ("made beside",)


def test_a_running_meta_of_the_release_before_ends_within_a_minute_of_finish(
    before: Installation, database_url: str
) -> None:
    wait_until(lambda: is_noted(database_url), "its row is written")

    # It may note itself again meanwhile.
    wait_until(
        lambda: finish(database_url).returncode == 0,
        "the upgrade to be finished",
        tick=lambda: age_servers(database_url),
        seconds=STOP_SECS,
    )

    wait_until(
        lambda: any("release_too_low" in line for line in before.meta.lines),
        "its end",
        seconds=STOP_SECS,
    )
