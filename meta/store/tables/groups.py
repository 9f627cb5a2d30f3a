"""Groups of datasets, and the names that they had."""

from sqlalchemy import BigInteger, Column, DateTime, ForeignKey, Table, Text, Uuid, text

from meta.store.tables.columns import metadata, moment, now, tenant_key

# A group's row stays when it is deleted, for the names that its datasets had.
groups = Table(
    "groups",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    now("created_at"),
    moment("deleted_at"),
    # As in the table of datasets.
    Column("name_number", BigInteger, nullable=False, server_default=text("1")),
    Column("noted_number", BigInteger, server_default=text("-1")),
    tenant_key(),
)

# Versions [from_version, to_version) at which a group has a name, without gaps.
group_visibility = Table(
    "group_visibility",
    metadata,
    Column("group_id", Uuid, ForeignKey("groups.id"), primary_key=True),
    Column("from_version", BigInteger, primary_key=True, autoincrement=False),
    Column("to_version", BigInteger),
    # The group's name then; NULL = its name of today.
    Column("name", Text),
    # When the versions began.
    Column("from_time", DateTime(timezone=True), server_default=text("clock_timestamp()")),
    tenant_key(),
)
