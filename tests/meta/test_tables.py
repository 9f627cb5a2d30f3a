"""The tables of meta.store equal those of a migrated database."""

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from meta import migrations
from meta.store.engine.pool import Database, DatabaseSettings
from meta.store.tables import metadata


def test_migrations_create_the_tables_that_statements_are_built_from(
    empty_database_url: str,
) -> None:
    database = Database(DatabaseSettings(url=empty_database_url))
    migrations.upgrade(database)

    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, metadata)
    database.close()

    assert differences == []
