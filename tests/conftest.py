"""Fixtures for every test: one Postgres a session, one database a test."""

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
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
from meta.process import Environment
from meta.server import server
from meta.store.engine.pool import Database, DatabaseSettings
from segplane.stack.postgres import EmbeddedPostgres
from tests.support.meta import database_roles
from tests.support.meta.server import MetaServer

# No deadline: a loaded machine is no counterexample. CI repeats the same examples, so that what
# lands was tested as it stood; every other run looks for new ones.
hypothesis_settings.register_profile(
    "segplane",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
hypothesis_settings.load_profile("segplane")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Spread tests over workers, those with Spark on one of them."""
    # Only now: without workers, nothing needs xdist.
    from tests.support.scheduling import SparkTogether

    return SparkTogether(config, log)


# A database in memory is made in an eighth of the time; a thousand tests make one.
MEMORY = "/dev/shm"
MEMORY_BYTES_MIN = 8 * 2**30
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
    # Not under tmp_path: pytest keeps that closed to the user whom Postgres runs as under root.
    folder = Path(tempfile.mkdtemp(prefix="segplane-test-", dir=_memory()))
    folder.chmod(0o711)
    try:
        with EmbeddedPostgres(folder / "postgres", settings=FAST_AND_LOOSE) as cluster:
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make test-restricted`."""
    text = "let meta serve as the restricted Postgres role of docs/security.md"
    parser.addoption("--restricted-role", action="store_true", help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the restricted role may not do."""
    if config.getoption("--restricted-role"):
        skip = pytest.mark.skip(reason="needs the owner of the database")
        for item in items:
            if item.get_closest_marker("database_owner"):
                item.add_marker(skip)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave the modules and tests out of garbage collection: they stay until the end.

    Each full collection went through 600,000 objects; that took 4 % of the time of all tests.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def is_restricted(request: pytest.FixtureRequest) -> bool:
    """True where meta serves as the restricted role of docs/security.md."""
    return bool(request.config.getoption("--restricted-role"))


@pytest.fixture(scope="session")
def template_database(postgres: EmbeddedPostgres, is_restricted: bool) -> str:
    """Name a database with the full schema, to be copied and never connected to."""
    name = "segplane_template"
    _admin(postgres, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    if is_restricted:
        database_roles.create(postgres.url_of(name))
        database_roles.migrate(postgres.url_of(name))
        return name
    database = Database(DatabaseSettings(url=postgres.url_of(name)))
    migrations.upgrade(database)
    database.close()
    return name


@pytest.fixture
def database_url(postgres: EmbeddedPostgres, template_database: str) -> Iterator[str]:
    """Give a fresh, migrated database and drop it afterwards."""
    name = f"test_{uuid4().hex}"
    _admin(
        postgres,
        # Copying files takes half the time of writing them through the log.
        sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(
            sql.Identifier(name), sql.Identifier(template_database)
        ),
    )
    yield postgres.url_of(name)
    _admin(postgres, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def empty_database_url(postgres: EmbeddedPostgres) -> Iterator[str]:
    """Give a fresh database without any table, for tests of the migrations themselves."""
    name = f"empty_{uuid4().hex}"
    _admin(postgres, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    yield postgres.url_of(name)
    _admin(postgres, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def meta_settings(database_url: str, tmp_path: Path, is_restricted: bool) -> config.Settings:
    """Settings of the meta under test; a test overrides this fixture to change them."""
    if is_restricted:
        database_url = database_roles.as_role(database_url, database_roles.SERVING)
    return config.load(
        Environment(
            "META_",
            {
                "META_BIND": "127.0.0.1:0",
                "META_DATABASE_URL": database_url,
                "META_OBJECT_STORE_URL": (tmp_path / "objects").as_uri(),
                "META_UNSAFE_SHORT_GRACE": "true",
                # Four segments of a day are enough for a merge task.
                "META_MERGE_FILES_MAX": "3",
                "META_THREADS": "8",
            },
        )
    )


@pytest.fixture
def meta_server(meta_settings: config.Settings) -> Iterator[MetaServer]:
    """Run meta in this process, over its own database and a folder as object store."""
    running = server.start(meta_settings)
    address = f"127.0.0.1:{running.port}"
    with MetaClient(address) as client:
        yield MetaServer(address, client, replace(meta_settings, bind=address), running)
    running.stop(2.0)


@pytest.fixture
def meta_client(meta_server: MetaServer) -> MetaClient:
    """Give a client of the meta under test."""
    return meta_server.client


def _admin(cluster: EmbeddedPostgres, statement: sql.Composed) -> None:
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        connection.execute(statement)


def _memory() -> str | None:
    """A folder in memory, where the system has one with room; None = its usual folder."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < MEMORY_BYTES_MIN:
        return None
    return MEMORY
