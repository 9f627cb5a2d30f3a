"""A real PgBouncer before Postgres: what shares sessions, or has too few, is refused."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import grpc
import psycopg
import pytest
from sqlalchemy import make_url
from structlog.testing import capture_logs

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import Unavailable
from meta.process.exits import ConfigError
from meta.server import server
from meta.server.database_start import open_database
from meta.store.engine import caller_role, connecting, driver_errors, server_limits
from meta.store.engine.pool import Database
from meta.v1 import catalog_pb2, catalog_pb2_grpc
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.database_roles import CALLERS
from tests.support.meta.pgbouncer import running_pgbouncer
from tests.support.meta.segments import Writer
from tests.support.meta.two_tenants import caller_of


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


def test_a_tenants_role_ends_with_its_transaction_behind_a_pgbouncer(
    meta_settings: Settings, database_url: str, folder: Path
) -> None:
    give_options_by_database(database_url, meta_settings)
    with running_pgbouncer(folder, database_url, "session", ignores_options=True) as url:
        database = open_database(through(meta_settings, url))
        try:
            with caller_of(0), database.write() as tx:
                inside = caller_role.taken(tx)
            with database.read() as tx:
                afterwards = caller_role.taken(tx)
            with psycopg.connect(url) as other:
                of_another = other.execute("SELECT current_user").fetchone()
        finally:
            database.close()

    assert inside == (CALLERS, "0")
    assert afterwards[1] == ""
    assert of_another == (afterwards[0],)


# PgBouncer's default_pool_size, without those of health and the witness.
SESSIONS, FITTING = 20, 18


@contextmanager
def session_pooler(settings: Settings, database_url: str, folder: Path) -> Iterator[str]:
    """Run a PgBouncer as it is installed, in session mode as the documentation sets it up."""
    give_options_by_database(database_url, settings)
    with running_pgbouncer(folder, database_url, "session", ignores_options=True) as url:
        yield url


def with_pool(settings: Settings, pool_size: int, *, is_set: bool) -> Settings:
    database = replace(settings.database, pool_size=pool_size)
    return replace(settings, database=database, is_pool_set=is_set)


def test_a_pool_fits_the_sessions_of_a_pgbouncer(
    meta_settings: Settings, database_url: str, folder: Path
) -> None:
    with session_pooler(meta_settings, database_url, folder) as url:
        settings = through(meta_settings, url)

        with capture_logs() as events:
            default = open_database(with_pool(settings, 34, is_set=False))
        sizes = [default.pool_size]
        default.close()
        fitting = open_database(with_pool(settings, FITTING, is_set=True))
        sizes.append(fitting.pool_size)
        fitting.close()
        message = refusal(with_pool(settings, FITTING + 1, is_set=True))

    assert sizes == [FITTING, FITTING]
    assert [e["event"] for e in events if e["log_level"] == "warning"] == ["database_pool_reduced"]
    assert f"{SESSIONS} sessions at a time" in message
    assert "default_pool_size" in message
    assert "META_DATABASE_POOL" in message


def test_a_call_that_waits_for_a_session_fails_with_its_reason_in_time(
    meta_settings: Settings, database_url: str, folder: Path
) -> None:
    with session_pooler(meta_settings, database_url, folder) as url, ExitStack() as held:
        running = server.start(through(meta_settings, url))
        running.database.engine.dispose()
        # Those that meta has beside its pool stay; others take all the rest.
        with suppress(connecting.NoAnswer):
            while True:
                other = held.enter_context(closing(psycopg.connect(url, autocommit=True)))
                connecting.ask(other, "SELECT 1", 1.0)
        channel = held.enter_context(grpc.insecure_channel(f"127.0.0.1:{running.port}"))
        stub = catalog_pb2_grpc.CatalogServiceStub(channel)
        began = time.monotonic()

        with pytest.raises(grpc.RpcError) as refused:
            stub.GetDataset(catalog_pb2.GetDatasetRequest(name="default"), timeout=60)

        secs = time.monotonic() - began
        held.close()
        running.stop(1.0)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "default_pool_size" in str(refused.value.details())
    assert secs < connecting.ANSWER_SECS + driver_errors.POOL_SECS


@pytest.mark.long
def test_a_call_that_waits_for_a_connection_of_the_pool_fails_with_its_reason_in_time(
    meta_settings: Settings,
) -> None:
    database = Database(replace(meta_settings.database, pool_size=1))
    began = time.monotonic()

    with (
        database.read(),
        pytest.raises(Unavailable, match="META_DATABASE_POOL are in use"),
        database.read(),
    ):
        pass

    database.close()
    assert time.monotonic() - began < driver_errors.POOL_SECS + 1.0


def test_postgres_itself_is_not_taken_for_a_pooler(meta_settings: Settings) -> None:
    database: Database = open_database(meta_settings)

    assert not server_limits.is_pooled(database)
    database.close()
