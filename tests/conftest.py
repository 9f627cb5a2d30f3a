"""Fixtures for every test: one Postgres a session; a database a test, or a module (`one_meta`)."""

import meta.grpc_core  # noqa: F401 - before grpc, which reads it once

# isort: split
import gc
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from psycopg import sql

from meta import config, migrations
from meta.client import MetaClient
from meta.process.environment import Environment
from meta.server import server
from meta.store.engine.pool import Database, DatabaseSettings
from segplane.stack.postgres import EmbeddedPostgres
from tests.support.collection import import_share, leave_out_cases
from tests.support.data_folders import open_folder, remove_left_folders
from tests.support.examples import examples
from tests.support.meta import database_roles, tenant_calls
from tests.support.meta.server import MetaServer
from tests.support.meta.shared import shares_meta

pytest_plugins = ("tests.support.object_store.fixtures",)

# No deadline: a loaded machine is not a counterexample. CI repeats the same examples, so that what
# lands was tested as it stood; every other run looks for new ones.
hypothesis_settings.register_profile(
    "segplane",
    deadline=None,
    max_examples=examples(100),
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
hypothesis_settings.load_profile("segplane")


# A JVM for each process of each test would take most of the CPU. Tests of the default, and of what
# Spark does, say so.
os.environ.setdefault("SEGPLANE_SPARK_MASTER", "processes")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Spread tests over workers, those with Spark on one of them."""
    # Only now: without workers, nothing needs xdist.
    from tests.support.scheduling import SparkTogether

    return SparkTogether(config, log)


# Drops the database of a name, soon.
Removal = Callable[[str], object]

# A test's database never has to survive a power cut.
FAST_AND_LOOSE = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "200",
}


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """Run one Postgres for the whole session."""
    remove_left_folders()
    # A database in memory is made in an eighth of the time; a thousand tests make one.
    with (
        open_folder() as folder,
        EmbeddedPostgres(folder / "postgres", settings=FAST_AND_LOOSE) as cluster,
    ):
        yield cluster


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make test-restricted`."""
    text = "let meta serve as the restricted Postgres role of docs/security.md"
    parser.addoption("--restricted-role", action="store_true", help=text)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Divide the work of importing test modules among the workers.

    Objects that are made until the end of the collection stay, so none is looked at as garbage:
    that took a sixth of its time.
    """
    gc.disable()
    import_share(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave cases of tables to `make test-long`, and skip what the restricted role may not do."""
    leave_out_cases(items)
    if config.getoption("--restricted-role"):
        tenant_calls.begin()
        skip = pytest.mark.skip(reason="needs the owner of the database")
        for item in items:
            if item.get_closest_marker("database_owner"):
                item.add_marker(skip)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave the modules and tests out of garbage collection: they stay until the end.

    Each full collection went through 600,000 objects; that took 4 % of the time of all tests.
    """
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def is_restricted(request: pytest.FixtureRequest) -> bool:
    """True where meta serves as the restricted role of docs/security.md."""
    return bool(request.config.getoption("--restricted-role"))


@pytest.fixture(scope="session")
def administration(postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection]:
    """Connect to the cluster, to create and drop databases."""
    with closing(psycopg.connect(postgres.url, autocommit=True)) as connection:
        yield connection


@pytest.fixture(scope="session")
def removal(postgres: EmbeddedPostgres) -> Iterator[Removal]:
    """Drop databases beside the tests: each waits 0.1 s for its last connection to end."""
    with (
        ThreadPoolExecutor(1) as pool,
        psycopg.connect(postgres.url, autocommit=True) as connection,
    ):
        drops = list[Future[Any]]()
        yield lambda name: drops.append(pool.submit(connection.execute, _drop(name)))
        for drop in drops:
            drop.result()


@pytest.fixture(scope="session")
def template_database(
    postgres: EmbeddedPostgres, administration: psycopg.Connection, is_restricted: bool
) -> str:
    """Name a database with the full schema, to be copied and never connected to."""
    name = "segplane_template"
    administration.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    if is_restricted:
        database_roles.create(postgres.url_of(name))
        database_roles.migrate(postgres.url_of(name))
        return name
    settings = DatabaseSettings(postgres.url_of(name), caller_role=database_roles.CALLERS)
    database = Database(settings)
    migrations.upgrade(database)
    database.close()
    return name


@pytest.fixture
def database_url(
    request: pytest.FixtureRequest,
    postgres: EmbeddedPostgres,
    administration: psycopg.Connection,
    removal: Removal,
    template_database: str,
) -> Iterator[str]:
    """Give a fresh, migrated database and drop it afterwards; with `one_meta`, the module's."""
    if shares_meta(request):
        yield request.getfixturevalue("module_database_url")
        return
    with _database(administration, removal, template_database) as name:
        yield postgres.url_of(name)


@pytest.fixture(scope="module")
def module_database_url(
    postgres: EmbeddedPostgres,
    administration: psycopg.Connection,
    removal: Removal,
    template_database: str,
) -> Iterator[str]:
    """Give a database that all tests of the module use."""
    with _database(administration, removal, template_database) as name:
        yield postgres.url_of(name)


@pytest.fixture
def empty_database_url(
    postgres: EmbeddedPostgres, administration: psycopg.Connection, removal: Removal
) -> Iterator[str]:
    """Give a fresh database without any table, for tests of the migrations themselves."""
    with _database(administration, removal, None) as name:
        yield postgres.url_of(name)


@pytest.fixture
def meta_settings(
    request: pytest.FixtureRequest, database_url: str, tmp_path: Path, is_restricted: bool
) -> config.Settings:
    """Settings of the meta under test; a test overrides this fixture to change them."""
    if shares_meta(request):
        shared: MetaServer = request.getfixturevalue("module_meta")
        return shared.settings
    return _settings(database_url, tmp_path, is_restricted)


@pytest.fixture
def meta_server(
    request: pytest.FixtureRequest, meta_settings: config.Settings
) -> Iterator[MetaServer]:
    """Run meta in this process, over its own database and a folder as object store.

    With `one_meta`, all tests of the module use one such meta.
    """
    if shares_meta(request):
        shared: MetaServer = request.getfixturevalue("module_meta")
        assert meta_settings is shared.settings, "a module with settings of its own needs its metas"
        yield shared
        return
    with _meta(meta_settings) as meta:
        yield meta


@pytest.fixture(scope="module")
def module_meta(
    module_database_url: str, tmp_path_factory: pytest.TempPathFactory, is_restricted: bool
) -> Iterator[MetaServer]:
    """Run the meta that all tests of the module use."""
    folder = tmp_path_factory.mktemp("meta")
    with _meta(_settings(module_database_url, folder, is_restricted)) as meta:
        yield meta


@pytest.fixture
def meta_client(meta_server: MetaServer) -> MetaClient:
    """Give a client of the meta under test."""
    return meta_server.client


def _settings(database_url: str, folder: Path, is_restricted: bool) -> config.Settings:
    if is_restricted:
        database_url = database_roles.as_role(database_url, database_roles.SERVING)
    return config.load(
        Environment(
            "META_",
            {
                "META_BIND": "127.0.0.1:0",
                "META_DATABASE_URL": database_url,
                "META_OBJECT_STORE_URL": (folder / "objects").as_uri(),
                "META_UNSAFE_SHORT_GRACE": "true",
                # Four segments of a day are enough for a merge task.
                "META_MERGE_FILES_MAX": "3",
                "META_THREADS": "8",
                "META_DATABASE_CALLER_ROLE": database_roles.CALLERS,
            },
        )
    )


@contextmanager
def _meta(settings: config.Settings) -> Iterator[MetaServer]:
    running = server.start(settings)
    address = f"127.0.0.1:{running.port}"
    with MetaClient(address) as client:
        yield MetaServer(address, client, replace(settings, bind=address), running)
    running.stop(2.0)


@contextmanager
def _database(
    administration: psycopg.Connection, remove: Removal, template: str | None
) -> Iterator[str]:
    """Create a database, from a template if one is given, and drop it afterwards."""
    name = f"test_{uuid4().hex}"
    parts = [sql.Identifier(part) for part in (name, template) if part]
    # Copying files takes half the time of writing them through the log.
    copies = " TEMPLATE {} STRATEGY FILE_COPY" if template else ""
    administration.execute(sql.SQL("CREATE DATABASE {}" + copies).format(*parts))
    yield name
    remove(name)


def _drop(name: str) -> sql.Composed:
    return sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
