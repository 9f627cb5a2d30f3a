"""The end of an upgrade: `segplane migrate --finish`, and what is refused before it."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from sqlalchemy import text

from meta import migrations
from meta.config import Settings
from meta.errors import UpgradeUnfinished
from meta.store.engine.pool import Database
from meta.store.versions import upgrades
from meta.store.workers import servers
from meta.store.workers.servers import MetaServer
from tests.support.meta.server import MetaServer as RunningMeta


@pytest.fixture
def database(meta_settings: Settings) -> Iterator[Database]:
    """Give a migrated database as 0.3.0 has left it: no least release."""
    opened = Database(meta_settings.database)
    migrations.upgrade(opened)
    _set_least(opened, None)
    yield opened
    opened.close()


def _set_least(database: Database, release: str | None) -> None:
    with database.write() as tx:
        tx.execute(text("UPDATE meta_state SET least_release = :release"), {"release": release})


def _note(database: Database, release: str, seen_secs_ago: float) -> None:
    with database.write() as tx:
        servers.note(tx, MetaServer(uuid4(), "old-host", release))
        tx.execute(
            text("UPDATE meta_servers SET seen_at = now() - make_interval(secs => :secs)"),
            {"secs": seen_secs_ago},
        )


def _require(database: Database) -> None:
    with database.read() as tx:
        upgrades.require_finished(tx, "a lock")


@pytest.mark.parametrize(
    ("least", "is_finished"),
    [
        (None, False),
        ("0.2.0", False),
        ("0.3.0", False),
        ("0.3.17", False),
        ("0.4.0.dev0", True),
        ("0.4.0", True),
        ("0.10.0", True),
        ("1.0", True),
        ("999!1.0", True),
    ],
)
def test_an_upgrade_is_finished_once_the_least_release_is_this_one(
    database: Database, least: str | None, is_finished: bool
) -> None:
    _set_least(database, least)

    with database.read() as tx:
        assert upgrades.is_finished(tx) is is_finished
    if not is_finished:
        with pytest.raises(UpgradeUnfinished, match=r"a lock needs .* `segplane migrate --finish`"):
            _require(database)


@pytest.mark.parametrize("release", ["0.3.0", "0.3.9", "0.2.0", "unreadable"])
def test_finish_is_refused_while_a_lower_release_was_seen_within_five_minutes(
    database: Database, release: str
) -> None:
    _note(database, release, servers.SEEN_SECS - 10)

    with pytest.raises(UpgradeUnfinished, match=f"a meta of release {release} on old-host"):
        migrations.finish(database)
    with pytest.raises(UpgradeUnfinished):
        _require(database)


def test_finish_raises_the_least_release_once(database: Database) -> None:
    _note(database, "0.3.0", servers.SEEN_SECS + 10)
    _note(database, "0.4.0.dev0", 0)
    with database.write() as tx:
        tx.execute(
            text(
                "UPDATE meta_servers SET seen_at = now() - interval '6 minutes'"
                " WHERE release = '0.3.0'"
            )
        )

    assert [migrations.finish(database), migrations.finish(database)] == [True, False]

    assert servers.least_release(database) == "0.4.0.dev0"
    _require(database)


def test_a_higher_least_release_stays(database: Database) -> None:
    _set_least(database, "0.5.0")

    assert not migrations.finish(database)

    assert servers.least_release(database) == "0.5.0"


def test_a_fresh_database_is_finished(meta_server: RunningMeta) -> None:
    _require(meta_server.running.database)


@pytest.mark.parametrize(
    "left",
    [
        "INSERT INTO datasets (id, name) VALUES (gen_random_uuid(), 'web')",
        "INSERT INTO meta_servers (id, host, release) VALUES (gen_random_uuid(), 'h', '0.3.0')",
    ],
    ids=["dataset", "server"],
)
def test_a_database_that_another_release_used_is_not_finished(
    empty_database_url: str, meta_settings: Settings, left: str
) -> None:
    from meta.store.engine.pool import DatabaseSettings

    opened = Database(DatabaseSettings(url=empty_database_url))
    try:
        migrations.upgrade(opened, revision="0067")
        with opened.engine.begin() as connection:
            connection.execute(text(left))
        migrations.upgrade(opened)
        with pytest.raises(UpgradeUnfinished):
            _require(opened)
    finally:
        opened.close()
