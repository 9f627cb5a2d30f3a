"""Migrations: from the schema of 0.3.0 on, and a database below it is left as it is."""

import psycopg
import pytest
from click.testing import CliRunner
from sqlalchemy import text

from meta import migrations
from meta.config import Settings
from meta.errors import InvalidArgument
from meta.server import server
from meta.store.engine.pool import Database, DatabaseSettings
from segplane.__main__ import app
from tests.support.meta.server import MetaServer
from tests.support.releases import database as dumps
from tests.support.releases.release import RELEASE_BEFORE, Release

EARLIER = Release("0.2.0")
# Another role than the owner cannot migrate.
pytestmark = pytest.mark.database_owner


def test_a_fresh_schema_is_that_of_the_release_before(empty_database_url: str) -> None:
    database = Database(DatabaseSettings(url=empty_database_url))
    migrations.upgrade(database, revision=migrations.first_revision())
    database.close()

    fresh = dumps.schema_of(dumps.dump(empty_database_url).decode())
    recorded = dumps.schema_of((RELEASE_BEFORE.fixtures / "database.sql").read_text())
    assert len(recorded) > 200
    assert fresh == recorded


def test_a_fresh_database_has_the_rows_and_its_own_secret(empty_database_url: str) -> None:
    database = Database(DatabaseSettings(url=empty_database_url))
    migrations.upgrade(database)
    database.close()

    with psycopg.connect(empty_database_url) as connection:
        peppers = connection.execute("SELECT length(token_pepper) FROM meta_state").fetchall()
        clocks = connection.execute("SELECT observed_at FROM clock_state").fetchall()
        witnesses = connection.execute("SELECT tick, history FROM witness_state").fetchall()
    assert (peppers, clocks, witnesses) == ([(32,)], [(None,)], [(0, None)])


def test_a_database_below_the_release_before_is_left_as_it_is(empty_database_url: str) -> None:
    dumps.restore(empty_database_url, EARLIER.fixtures / "database.sql")
    before = dumps.dump(empty_database_url)
    database = Database(DatabaseSettings(url=empty_database_url))

    with pytest.raises(InvalidArgument, match=r"revision 0035, below \d{4} of release 0\.3\.0"):
        migrations.upgrade(database)
    database.close()
    command = ["migrate", "--database-url", empty_database_url]
    refused = CliRunner().invoke(app, command)

    assert refused.exit_code != 0
    assert "start meta of 0.3.0 on the database" in refused.output
    assert dumps.dump(empty_database_url) == before


def test_a_meta_does_not_start_below_the_release_before(meta_settings: Settings) -> None:
    with psycopg.connect(meta_settings.database.url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0035'")

    with pytest.raises(InvalidArgument, match=r"or run its `segplane migrate`"):
        server.start(meta_settings)


def test_an_upgraded_database_has_this_release_s_revision(
    meta_server: MetaServer, meta_settings: Settings
) -> None:
    database = Database(meta_settings.database)

    assert migrations.current_revision(database) == migrations.head_revision()
    database.close()


def test_a_server_starts_on_the_schema_of_a_later_release(meta_settings: Settings) -> None:
    """As one that is started again during an upgrade; later schemas only add."""
    database = Database(meta_settings.database)
    try:
        with database.write() as tx:
            tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))

        started = server.start(meta_settings)
        started.stop(2.0)

        assert migrations.current_revision(database) == "9999"
    finally:
        database.close()


def test_a_start_at_the_head_waits_for_no_other_migration(meta_settings: Settings) -> None:
    """A migration may run for long, and has nothing to change for this release."""
    database = Database(meta_settings.database)
    try:
        with database.write() as other:
            other.execute(text("SELECT pg_advisory_xact_lock(7310579241902114)"))

            started = server.start(meta_settings)
            started.stop(2.0)
    finally:
        database.close()
