"""Run by Alembic: migrate over the connection that `meta.migrations.upgrade` hands over."""

from alembic import context
from sqlalchemy import text

from meta.store.tables import metadata

connection = context.config.attributes["connection"]
# A migration must not queue behind a long reader while every writer queues behind it.
connection.execute(text("SET lock_timeout = '10s'"))
connection.execute(text("SET statement_timeout = 0"))
connection.commit()
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
