"""The least release that may serve a database, and the metas that serve it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import text

from meta import migrations, release
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import ReleaseTooLow
from meta.process.installed import installed_release
from meta.process.shutdown import Shutdown
from meta.server.database_start import open_database
from meta.store.engine.pool import Database
from meta.store.workers import servers
from meta.store.workers.servers import MetaServer
from meta.watches.release_watch import ReleaseWatch
from meta.watches.witness_log import WitnessLog
from segments.keys import mark_key
from segments.location import StoreLocation
from segments.store.folder import FolderStore
from segments.store.interface import ObjectInfo
from tests.support.waiting import wait_until

# A meta looks every 30 s, and has a minute to stop.
STOP_SECS = 60.0
OWN = installed_release()


@pytest.fixture
def database(meta_settings: Settings) -> Iterator[Database]:
    """Give a migrated database."""
    opened = Database(meta_settings.database)
    migrations.upgrade(opened)
    yield opened
    opened.close()


def require(database_url: str, least_release: str | None) -> None:
    """Set the least release, as `segplane migrate --finish` will."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE meta_state SET least_release = %s", (least_release,))


def noted(database: Database) -> list[tuple[str, bool]]:
    """Each server's release, and whether it was seen after its start."""
    with database.engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT release, seen_at > started_at FROM meta_servers ORDER BY started_at, id"
        )
        return [(str(row[0]), bool(row[1])) for row in rows]


@pytest.mark.parametrize(
    ("least", "own", "may_serve"),
    [
        ("", "0.3.0", True),
        ("0.3.0", "0.3.0", True),
        ("0.3.0", "0.10.0", True),
        ("0.3.0", "0.3.0.dev0", False),
        ("0.4.0.dev0", "0.3.0", False),
        ("0.4.0.dev0", "0.4.0rc1", True),
        ("0.4.0.dev0", "0.3.9.post1", False),
        ("written by a later build", "0.3.0", False),
    ],
)
def test_releases_are_ordered_as_in_pep_440(least: str, own: str, may_serve: bool) -> None:
    refusal = release.refusal(least, own)

    assert (refusal == "") == may_serve
    assert may_serve or (least in refusal and own in refusal)


def test_a_meta_does_not_start_below_the_least_release(
    meta_settings: Settings, database: Database
) -> None:
    require(meta_settings.database.url, OWN)
    open_database(meta_settings).close()

    require(meta_settings.database.url, "999!1.0")

    with pytest.raises(ReleaseTooLow, match=rf"999!1\.0 or later, this is {re.escape(OWN)}"):
        open_database(meta_settings)


def test_a_meta_writes_its_release_and_start_into_one_row(database: Database) -> None:
    transactions = Transactions(database)
    first, second = (ReleaseWatch(transactions, Shutdown(), name) for name in ("0.3.0", "0.3.1"))

    for watch in (first, second, first):
        watch.run_round()

    assert noted(database) == [("0.3.0", True), ("0.3.1", False)]


def test_the_rows_of_metas_are_bounded(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO meta_servers (id, host, release, seen_at)"
                " SELECT gen_random_uuid(), 'old', '0.3.0', now() - make_interval(hours => n)"
                " FROM generate_series(1, :rows) AS n"
            ),
            {"rows": servers.SERVERS_MAX},
        )

    newest = MetaServer(uuid4(), "new", "0.3.1")
    Transactions(database).write(lambda tx: servers.begin(tx, newest))

    hosts = database.engine.connect().exec_driver_sql("SELECT host FROM meta_servers").scalars()
    assert sorted(hosts) == ["new", *["old"] * (24 * servers.EXPIRY_DAYS - 1)]


def test_a_running_meta_ends_once_the_least_release_is_above_its_own(
    meta_settings: Settings, database: Database
) -> None:
    shutdown = Shutdown()
    watch = ReleaseWatch(Transactions(database), shutdown)
    watch.run_round()
    watch.check()

    require(meta_settings.database.url, "999!1.0")
    watch.run_round()

    assert shutdown.is_requested
    with pytest.raises(ReleaseTooLow, match=r"999!1\.0"):
        watch.check()


@pytest.mark.slow
def test_a_process_of_meta_ends_within_a_minute(database_url: str, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "META_BIND": "127.0.0.1:0",
        "META_DATABASE_URL": database_url,
        "META_OBJECT_STORE_URL": (tmp_path / "objects").as_uri(),
    }
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "meta"], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_until(lambda: _is_noted(database_url), "its row is written")
            require(database_url, "999!1.0")
            _, errors = process.communicate(timeout=STOP_SECS)
        finally:
            process.kill()

    assert process.returncode == 2
    assert errors.splitlines()[-1].startswith("error: the database needs release 999!1.0")


def _is_noted(database_url: str) -> bool:
    with psycopg.connect(database_url, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass('meta_servers')").fetchone() == (None,):
            return False
        return connection.execute("SELECT count(*) FROM meta_servers").fetchone() == (1,)


@dataclass(frozen=True)
class ListingStore(FolderStore):
    """A store in a folder that notes the keys that a listing was asked for."""

    listed: list[str] = field(default_factory=list)

    def list(self, prefix: str, start_after: str = "") -> Iterator[ObjectInfo]:
        """Note each key when it is asked for."""
        for info in FolderStore.list(self, prefix, start_after):
            self.listed.append(info.key)
            yield info


def test_the_listing_of_marks_ends_at_the_first_key_behind_them(tmp_path: Path) -> None:
    store = ListingStore(StoreLocation.from_url(tmp_path.as_uri()))
    marks = [mark_key(1, number) for number in (1, 2, 3)]
    others = [f"witness/{folder}/{number}" for folder in ("held", "names") for number in range(50)]
    body = b'{"format": 1, "tick": 1, "ceiling": 1, "term": "%s"}' % str(uuid4()).encode()
    for key in (*marks, "witness/0-stray", *others):
        store.put_if_absent(key, body)

    newest = WitnessLog(store).newest()

    assert newest is not None
    assert (newest.history, newest.number) == (1, 3)
    assert sorted(store.listed) == sorted([*marks, "witness/0-stray", "witness/held/0"])
