"""A real PgBouncer before Postgres: what shares sessions is refused, in one line."""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from meta.client import MetaClient
from meta.config import Settings
from meta.process import ConfigError
from meta.server import server
from meta.server.database_start import open_database
from meta.store.engine.pool import Database
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.pgbouncer import running_pgbouncer
from tests.support.meta.segments import Writer


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder that the user of the pooler can enter, which pytest's are not under root."""
    made = Path(tempfile.mkdtemp(prefix="segplane-pgbouncer-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


def through(settings: Settings, url: str) -> Settings:
    return replace(settings, database=replace(settings.database, url=url), database_wait_secs=0.0)


def give_options_by_database(database_url: str, settings: Settings) -> None:
    """Set what meta asks of its connections as defaults of the database, as operators may."""
    name = make_url(database_url).database
    with psycopg.connect(database_url, autocommit=True) as connection:
        for option, value in (
            ("lock_timeout", settings.database.lock_timeout_ms),
            ("statement_timeout", settings.database.statement_timeout_ms),
        ):
            connection.execute(f'ALTER DATABASE "{name}" SET {option} = {value}')


def refusal(settings: Settings) -> str:
    with pytest.raises(ConfigError) as refused:
        open_database(settings)
    message = str(refused.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("mode", "ignores_options"),
    [("transaction", False), ("session", False), ("session", True)],
    ids=["as installed", "session mode", "session mode, dropped"],
)
def test_a_pgbouncer_that_does_not_pass_the_options_is_refused(
    meta_settings: Settings, database_url: str, folder: Path, mode: str, ignores_options: bool
) -> None:
    with running_pgbouncer(folder, database_url, mode, ignores_options=ignores_options) as url:
        assert "options of connections" in refusal(through(meta_settings, url))


@pytest.mark.parametrize("mode", ["transaction", "statement"])
@pytest.mark.parametrize("has_options", [False, True], ids=["dropped", "on the database"])
def test_a_pgbouncer_that_shares_sessions_is_refused_whatever_the_options(
    meta_settings: Settings, database_url: str, folder: Path, mode: str, has_options: bool
) -> None:
    if has_options:
        give_options_by_database(database_url, meta_settings)
    with running_pgbouncer(folder, database_url, mode, ignores_options=True) as url:
        message = refusal(through(meta_settings, url))

    assert "PgBouncer" in message
    # In statement mode it refuses transactions by itself.
    assert ("pool_mode = session" in message) == (mode == "transaction")


def test_a_pgbouncer_in_session_mode_works(
    meta_settings: Settings, database_url: str, folder: Path
) -> None:
    give_options_by_database(database_url, meta_settings)
    with running_pgbouncer(folder, database_url, "session", ignores_options=True) as url:
        running = server.start(through(meta_settings, url))
        try:
            with MetaClient(f"127.0.0.1:{running.port}") as client:
                dataset_id = CatalogDriver(client).dataset()
                # More often than it takes until statements are prepared.
                ids = [Writer(client).save_many(dataset_id, 1) for _ in range(12)]
        finally:
            running.stop(1.0)

    assert len(ids) == 12


def test_postgres_itself_is_not_taken_for_a_pooler(meta_settings: Settings) -> None:
    database: Database = open_database(meta_settings)
    database.close()
