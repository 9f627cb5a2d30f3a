"""Postgres roles as docs/security.md makes them: one migrates, the other serves and no more."""

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.server import server
from tests.support.meta import database_roles
from tests.support.meta.all_rpcs import live
from tests.support.meta.database_roles import OWNER, SERVING


@pytest.fixture
def roles_url(empty_database_url: str, is_restricted: bool) -> Iterator[str]:
    """An empty database with the two roles of the page."""
    if is_restricted:
        pytest.skip("the roles are those of all tests")
    database_roles.create(empty_database_url)
    yield empty_database_url
    with psycopg.connect(empty_database_url, autocommit=True) as admin:
        for role in (SERVING, OWNER):
            admin.execute(f"DROP OWNED BY {role} CASCADE")
        admin.execute(f"REASSIGN OWNED BY {OWNER} TO CURRENT_USER")
        for role in (SERVING, OWNER):
            admin.execute(f"DROP ROLE {role}")


@pytest.fixture
def serving_url(roles_url: str) -> str:
    """The database, migrated by its owner, for the role that serves."""
    database_roles.migrate(roles_url)
    return database_roles.as_role(roles_url, SERVING)


def test_every_call_works_for_the_role_that_serves(
    serving_url: str, meta_settings: Settings
) -> None:
    settings = replace(
        meta_settings,
        database=replace(meta_settings.database, url=serving_url),
        lifetimes=replace(meta_settings.lifetimes, tombstone_grace=0.0),
    )
    running = server.start(settings)
    try:
        with MetaClient(f"127.0.0.1:{running.port}") as client:
            live(client)
    finally:
        running.stop(1.0)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE more (id int)",
        "DROP TABLE segments",
        "ALTER TABLE segments ADD COLUMN more int",
        "TRUNCATE segments",
        "UPDATE audit_log SET principal = 'somebody'",
        "UPDATE alembic_version SET version_num = '0001'",
        "DELETE FROM alembic_version",
        "CREATE SCHEMA more",
        f"GRANT {OWNER} TO {SERVING}",
    ],
)
def test_the_role_that_serves_can_do_no_more(serving_url: str, statement: str) -> None:
    with (
        psycopg.connect(serving_url, autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement)
