"""A migrated database has the tables of meta.store, and the indexes and constraints of a list."""

from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, text

from meta import migrations
from meta.planning.planner import Policy
from meta.store.engine.pool import Database, DatabaseSettings
from meta.store.tables import metadata

# A line for each index, check and unique constraint, as Postgres prints it.
LIST = Path(__file__).with_name("indexes_and_constraints.txt")
_DEFINITIONS = text("""
    SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'u')
    UNION ALL
    SELECT indrelid::regclass || ' ' || replace(pg_get_indexdef(indexrelid), 'public.', '')
    FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE relnamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
""")


def listed() -> list[str]:
    lines = LIST.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def definitions(connection: Connection) -> list[str]:
    """The indexes and constraints of a database, in the order of the list."""
    return sorted(connection.execute(_DEFINITIONS).scalars())


def is_column_or_table(_: object, __: object, kind: str, ___: bool, ____: object) -> bool:
    return kind in {"table", "column", "foreign_key_constraint"}


def test_migrations_create_the_tables_that_statements_are_built_from(
    empty_database_url: str,
) -> None:
    database = Database(DatabaseSettings(url=empty_database_url))
    migrations.upgrade(database)

    with database.engine.connect() as connection:
        options = {"compare_type": True, "include_object": is_column_or_table}
        context = MigrationContext.configure(connection, opts=options)
        differences = compare_metadata(context, metadata)
        created = definitions(connection)
    database.close()

    assert differences == []
    assert created == listed()


def test_the_planners_index_has_the_policys_figures() -> None:
    (index,) = [line for line in listed() if "segments_small_index" in line]

    assert f"compressed_size_bytes < {Policy().target_bytes})" in index
