"""Ways in which the rows of a dataset are read, all rows with all columns at once."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pyiceberg.catalog import load_catalog

from meta.client import MetaClient
from segplane.query.engine import QueryLimits, opened_query
from segplane.query.runs import plan
from segplane.query.sources import QueryPlace
from segplane.query.sql.sql_session import SqlSession
from segplane.read import open_dataset
from tests.support.gateway.server import GatewayServer

Rows = list[dict[str, Any]]


def read(meta_address: str, dataset: str) -> Rows:
    """Read with `segplane.read`."""
    with open_dataset(dataset, meta_address=meta_address) as opened:
        return opened.to_reader().read_all().to_pylist()


def sql(meta_address: str, dataset: str) -> Rows:
    """Read with `segplane sql`."""
    session = SqlSession(
        lambda: [dataset], lambda name: open_dataset(name, meta_address=meta_address)
    )
    try:
        with session.query(f'FROM "{dataset}"') as result:
            rows: Rows = result.reader.read_all().to_pylist()
            return rows
    finally:
        session.close()


def kql(meta_address: str, dataset: str) -> Rows:
    """Read with KQL, as Arrow."""
    with MetaClient(meta_address) as client:
        planned = plan(client, f"['{dataset}']", "kql", datetime.now(UTC))
        with opened_query(planned, QueryPlace(meta_address), QueryLimits()) as running:
            return running.reader().read_all().to_pylist()


def http(gateway: GatewayServer, dataset: str) -> Rows:
    """Read with a query over HTTP, as JSON."""
    answer = gateway.query(f"['{dataset}']")
    assert answer.status == 200, answer.body[:1_000]
    return list(json.loads(answer.body))


def iceberg(gateway: GatewayServer, dataset: str) -> Rows:
    """Read as an Iceberg table."""
    catalog = load_catalog("segplane", type="rest", uri=gateway.uri)
    return catalog.load_table(f"default.{dataset}").scan().to_arrow().to_pylist()


def doors(meta_address: str, gateway: GatewayServer, dataset: str) -> dict[str, Callable[[], Rows]]:
    """Every way, by its name."""
    return {
        "segplane.read": lambda: read(meta_address, dataset),
        "SQL": lambda: sql(meta_address, dataset),
        "KQL": lambda: kql(meta_address, dataset),
        "HTTP": lambda: http(gateway, dataset),
        "Iceberg": lambda: iceberg(gateway, dataset),
    }
