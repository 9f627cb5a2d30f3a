"""Failures of Postgres that only an operator can mend: named once, in log, health and metrics."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import grpc
import psycopg
import pytest
from click.testing import CliRunner
from grpc_health.v1 import health_pb2, health_pb2_grpc
from structlog.testing import capture_logs
from structlog.typing import EventDict

from meta import metrics
from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import Unavailable
from meta.process.exits import ConfigError
from meta.server import server
from meta.server.database_start import open_database
from meta.server.server import RunningServer
from meta.store.engine.operator_causes import Cause, OperatorCauses, cause_of
from meta.store.engine.pool import Database, DatabaseSettings
from meta.watches.health import READING_SERVICE, DatabaseState, HealthWatch
from segplane.__main__ import app
from segplane.stack.postgres import EmbeddedPostgres
from tests.support.data_folders import open_folder
from tests.support.meta import database_roles
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.segments import Writer
from tests.support.meta.small_disk import SmallDisk, small_disk
from tests.support.waiting import wait_until

pytestmark = pytest.mark.database_owner
INGESTION = "meta.v1.IngestionService"
ROLE = "operator_causes"


@dataclass
class Watched:
    """A database whose health is asked step by step, and the states that were reported."""

    database: Database
    states: list[DatabaseState] = field(default_factory=list)
    log: list[EventDict] = field(default_factory=list)

    def __post_init__(self) -> None:
        # A cause is forgotten as soon as it is mended.
        self.database.causes = OperatorCauses(quiet_secs=0.0)
        self._watch = HealthWatch(self.database, self.states.append)

    def check(self) -> DatabaseState:
        """Let the health watch look once; gives the state."""
        with capture_logs() as events:
            self._watch.check()
        self.log += events
        return self.states[-1] if self.states else DatabaseState.UP

    def write(self) -> None:
        Transactions(self.database).write(
            lambda tx: tx.exec_driver_sql("UPDATE meta_state SET version = version")
        )

    def errors(self) -> list[tuple[str, str]]:
        return [(e["event"], e["cause"]) for e in self.log if e["log_level"] == "error"]


def gauge(cause: Cause) -> float:
    return float(metrics.DATABASE_CAUSES.labels(cause.value)._value.get())


@contextmanager
def watched(url: str, pool_size: int = 2) -> Iterator[Watched]:
    database = Database(DatabaseSettings(url=url, pool_size=pool_size))
    try:
        yield Watched(database)
    finally:
        database.close()


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def role_url(database_url: str) -> Iterator[str]:
    """Give the URL of a role that may only serve, at most two connections of it."""
    grants = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO"
    execute(database_url, f"CREATE ROLE {ROLE} LOGIN CONNECTION LIMIT 3", f"{grants} {ROLE}")
    yield database_roles.as_role(database_url, ROLE)
    execute(
        database_url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'operator_causes'",
        f"DROP OWNED BY {ROLE}",
        f"DROP ROLE {ROLE}",
    )


def test_a_read_only_database_is_named_once_and_noticed_when_it_is_mended(
    database_url: str,
) -> None:
    name = database_url.partition("@/")[2].partition("?")[0]
    execute(database_url, f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    with watched(database_url) as scene:
        for _ in range(3):
            with pytest.raises(Unavailable, match="read-only") as refused:
                scene.write()
            assert scene.check() is DatabaseState.READS_ONLY

        assert refused.value.metadata["cause"] == "read_only"
        assert scene.errors() == [("database_needs_operator", "read_only")]
        assert gauge(Cause.READ_ONLY) == 1
        execute(
            database_url.replace("?", "?options=-c%20default_transaction_read_only%3Doff&"),
            f'ALTER DATABASE "{name}" RESET default_transaction_read_only',
        )
        assert scene.check() is DatabaseState.UP
        assert gauge(Cause.READ_ONLY) == 0
        # The connections from before are still read-only, and are replaced.
        scene.write()


def test_a_read_only_answer_of_a_failover_is_not_an_error(database_url: str) -> None:
    """A pooler may have led to a server in recovery; the present one takes writes."""
    with watched(database_url) as scene:
        scene.database.causes.note(psycopg.errors.ReadOnlySqlTransaction("cannot execute UPDATE"))

        assert scene.check() is DatabaseState.UP

        assert scene.errors() == []
        assert gauge(Cause.READ_ONLY) == 0


def test_a_database_without_connections_is_named_once(role_url: str) -> None:
    with watched(role_url, pool_size=4) as scene:
        scene.write()
        scene.check()
        others = [psycopg.connect(role_url)]

        for _ in range(3):
            with (
                pytest.raises(Unavailable, match="no connection left") as refused,
                scene.database.read(),
                scene.database.read(),
            ):
                pass
            assert scene.check() is DatabaseState.DOWN

        assert refused.value.metadata["cause"] == "connections"
        assert scene.errors() == [("database_needs_operator", "connections")]
        assert gauge(Cause.CONNECTIONS) == 1
        others.pop().close()
        # Postgres counts the connection until its process has ended.
        wait_until(lambda: scene.check() is DatabaseState.UP, "a free connection")
        assert gauge(Cause.CONNECTIONS) == 0


def test_missing_rights_are_named_once(database_url: str, role_url: str) -> None:
    with watched(role_url) as scene:
        scene.write()
        execute(database_url, f"REVOKE UPDATE ON meta_state FROM {ROLE}")

        for _ in range(3):
            with pytest.raises(Unavailable, match="rights") as refused:
                scene.write()
            assert scene.check() is DatabaseState.DOWN

        assert refused.value.metadata["cause"] == "rights"
        assert scene.errors() == [("database_needs_operator", "rights")]
        assert "meta_state" in next(e["error"] for e in scene.log if "error" in e)
        execute(database_url, f"GRANT UPDATE ON meta_state TO {ROLE}")
        assert scene.check() is DatabaseState.UP
        scene.write()


def test_a_role_that_is_refused_is_named_by_calls_health_start_and_migrate(
    database_url: str, meta_settings: Settings
) -> None:
    url = database_roles.as_role(database_url, "nobody_has_this_name")
    with watched(url) as scene:
        with pytest.raises(Unavailable, match="refuses the role"):
            scene.database.ping()
        assert scene.check() is DatabaseState.DOWN
        assert scene.errors() == [("database_needs_operator", "rights")]

    settings = replace(meta_settings, database=DatabaseSettings(url=url), database_wait_secs=0.0)
    with pytest.raises(ConfigError, match="refuses the role"):
        open_database(settings)
    migrated = CliRunner().invoke(app, ["migrate", "--database-url", url])
    assert migrated.exit_code != 0
    assert "refuses the role" in migrated.stderr


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("FATAL:  sorry, too many clients already", Cause.CONNECTIONS),
        ("FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
         Cause.CONNECTIONS),
        ('FATAL:  too many connections for role "meta"', Cause.CONNECTIONS),
        ("FATAL:  no more connections allowed (max_client_conn)", Cause.CONNECTIONS),
        ('FATAL:  password authentication failed for user "meta"', Cause.RIGHTS),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "meta"', Cause.RIGHTS),
        ('FATAL:  pg_hba.conf rejects connection for host "10.0.0.1"', Cause.RIGHTS),
        ('FATAL:  database "segplane" does not exist', Cause.RIGHTS),
        ("FATAL:  the database system is starting up", None),
        ("connection refused", None),
    ],
)  # fmt: skip
def test_a_refused_connection_is_told_apart_by_its_text(text: str, cause: Cause | None) -> None:
    assert cause_of(psycopg.OperationalError(f"connection failed: {text}")) is cause


@pytest.fixture
def full_disk_scene(meta_settings: Settings) -> Iterator[tuple[SmallDisk, RunningServer]]:
    """Run a meta over a Postgres whose disk can be filled."""
    with (
        open_folder() as folder,
        small_disk(folder, 160) as disk,
        EmbeddedPostgres(disk.folder / "pg", settings={"fsync": "off"}) as postgres,
    ):
        database = replace(meta_settings.database, url=postgres.url)
        running = server.start(replace(meta_settings, database=database))
        yield disk, running
        running.stop(1.0)


@pytest.mark.long
def test_a_full_disk_is_named_once_and_reads_are_served(
    full_disk_scene: tuple[SmallDisk, RunningServer],
) -> None:
    disk, running = full_disk_scene
    scene = Watched(running.database)
    with MetaClient(f"127.0.0.1:{running.port}", deadline_secs=3.0) as client:
        dataset = CatalogDriver(client).dataset("web")
        collector = IngestionDriver(client, "collector")
        stream = collector.register(CatalogDriver(client).token(dataset)).stream_id
        assert scene.check() is DatabaseState.UP
        disk.fill()

        with pytest.raises(Unavailable, match="the disk of Postgres is full") as refused:
            commit_many(collector, stream, dataset)

        assert refused.value.metadata["cause"] == "disk_full"
        for _ in range(3):
            assert scene.check() is DatabaseState.READS_ONLY
        running.report(DatabaseState.READS_ONLY)
        serving = {name: is_serving(running, name) for name in ("", INGESTION, READING_SERVICE)}
        assert serving == {"": False, INGESTION: False, READING_SERVICE: True}
        assert not Writer(client).find("web").segments
        assert scene.errors() == [("database_needs_operator", "disk_full")]
        assert gauge(Cause.DISK_FULL) == 1

        disk.empty()

        assert scene.check() is DatabaseState.UP
        assert gauge(Cause.DISK_FULL) == 0
        commit_many(collector, stream, dataset, 300)


def commit_many(collector: IngestionDriver, stream: str, dataset: str, number: int = 5_000) -> None:
    """Commit from the first offset on; what is committed already stays."""
    for offset in range(number):
        collector.commit(stream, offset, dataset)


def is_serving(running: RunningServer, service: str) -> bool:
    with grpc.insecure_channel(f"127.0.0.1:{running.port}") as channel:
        request = health_pb2.HealthCheckRequest(service=service)
        reply = health_pb2_grpc.HealthStub(channel).Check(request, timeout=10)
    return bool(reply.status == health_pb2.HealthCheckResponse.SERVING)
