"""Fixtures for every test: one Postgres a session, one database a test."""

import importlib
import importlib.util
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from segplane.postgres import EmbeddedPostgres

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
    folder = Path(tempfile.mkdtemp(prefix="segplane-test-"))
    folder.chmod(0o711)
    try:
        with EmbeddedPostgres(folder / "postgres", settings=FAST_AND_LOOSE) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def template_database(postgres: EmbeddedPostgres) -> str:
    """Name a database with the full schema, to be copied and never connected to."""
    name = "segplane_template"
    _admin(postgres, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    if importlib.util.find_spec("meta.migrations") is not None:
        migrations = importlib.import_module("meta.migrations")
        migrations.upgrade(postgres.url_of(name))
    return name


@pytest.fixture
def database_url(postgres: EmbeddedPostgres, template_database: str) -> Iterator[str]:
    """Give a fresh, migrated database and drop it afterwards."""
    name = f"test_{uuid4().hex}"
    _admin(
        postgres,
        sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
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


def _admin(server: EmbeddedPostgres, statement: sql.Composed) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(statement)
