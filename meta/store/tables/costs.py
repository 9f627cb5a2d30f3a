"""Tables of the ledger of costs."""

from sqlalchemy import BigInteger, Column, Date, DateTime, Integer, SmallInteger, Table, Uuid, func
from sqlalchemy import text as sql

from meta.store.tables.columns import metadata


def _ledger(name: str, period: str) -> Table:
    return Table(
        name,
        metadata,
        Column(period, Date, primary_key=True),
        # The tenant that caused the costs; 0 = the default one.
        Column(
            "tenant_key",
            Integer,
            primary_key=True,
            autoincrement=False,
            server_default=sql("0"),
        ),
        # 0 = of no dataset.
        Column("dataset_id", Uuid, primary_key=True),
        # A number of CostKind.
        Column("kind", SmallInteger, primary_key=True, autoincrement=False),
        Column("bytes", BigInteger, nullable=False),
        Column("read_requests", BigInteger, nullable=False),
        Column("write_requests", BigInteger, nullable=False),
        Column("cpu_micros", BigInteger, nullable=False),
        postgresql_with={"fillfactor": "70"},
    )


costs = _ledger("costs", "day")

# The sums of months whose days are over long ago; by their first day.
cost_months = _ledger("cost_months", "month")

# The last report of each start of a process.
cost_reports = Table(
    "cost_reports",
    metadata,
    Column("reporter", Uuid, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("reported_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    postgresql_with={"fillfactor": "50"},
)

# Samples of the stored bytes, each taken by pages of the keys of datasets, up to one.
cost_samples = Table(
    "cost_samples",
    metadata,
    Column("period_at", DateTime(timezone=True), primary_key=True),
    Column("last_key", Integer, nullable=False),
)
