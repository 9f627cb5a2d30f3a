"""Tenants: a row stays when its tenant is deleted, for what the bucket and the audit log name."""

from sqlalchemy import (
    BigInteger,
    Column,
    Identity,
    Integer,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

from meta.store.tables.columns import metadata, moment, now

tenants = Table(
    "tenants",
    metadata,
    # Short key of the rows that belong to it; 0 = `default`.
    Column("key", Integer, Identity(always=False), primary_key=True),
    Column("id", Uuid, nullable=False, unique=True),
    Column("name", Text(collation="C"), nullable=False),
    now("created_at"),
    # Its callers can neither send nor read, and nothing of it is deleted.
    moment("suspended_at"),
    moment("deleted_at"),
    # The grace is over, and its datasets are being deleted.
    moment("purged_at"),
    # It rises with each change of the name, a suspension or a deletion, by a trigger.
    Column("name_number", BigInteger, nullable=False, server_default=text("1")),
    # The number whose name the bucket has; -1 = none.
    Column("noted_number", BigInteger, nullable=False, server_default=text("-1")),
    # Name of the store of its new datasets; "" = the default store.
    Column("store", Text, nullable=False, server_default=text("''")),
)

tenant_shares = Table(
    "tenant_shares",
    metadata,
    # The row of `default` is the default of the other tenants.
    Column("tenant_key", Integer, primary_key=True, autoincrement=False),
    # Of each bound that is for all callers; 0 = the default, here and below.
    Column("percent", SmallInteger, nullable=False, server_default=text("0")),
    # Quotas; -1 = none.
    Column("datasets", BigInteger, nullable=False, server_default=text("0")),
    Column("records_per_month", BigInteger, nullable=False, server_default=text("0")),
    Column("bytes_per_sec", BigInteger, nullable=False, server_default=text("0")),
)

# The tenants that let metrics name their datasets.
metric_names = Table(
    "metric_names",
    metadata,
    Column("tenant_key", Integer, primary_key=True, autoincrement=False),
)
