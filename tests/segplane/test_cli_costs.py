"""segplane costs: names, units, and money by the prices of a file."""

import json
from pathlib import Path
from uuid import uuid4

import pytest

from meta.v1 import costs_pb2 as pb
from segplane.health.prices import PricesInvalid, read_prices
from tests.support.command_line import RunCommand
from tests.support.costs import entry, report
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer

PRICES = """
currency = "EUR"
ingest_gib = 0.5
query_gib = 2
read_requests_1000 = 0.1
write_requests_1000 = 1
cpu_hour = 3.6
"""


@pytest.fixture
def web(meta_server: MetaServer) -> str:
    """Name of a dataset with exports and queries, beside idle time."""
    dataset_id = CatalogDriver(meta_server.client).dataset("web")
    ingest = entry(
        dataset_id, pb.COST_KIND_INGEST, bytes=2**31, write_requests=20, cpu_micros=10**7
    )
    query = entry(dataset_id, pb.COST_KIND_QUERY, bytes=2**29, read_requests=100, cpu_micros=10**6)
    idle = entry("", pb.COST_KIND_INGEST, cpu_micros=2 * 10**6)
    report(meta_server.client, uuid4().bytes, 1, ingest, query, idle)
    return "web"


def test_costs_are_shown_with_names_and_money(web: str, run: RunCommand, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)

    shown = run("costs", "--prices", str(prices))
    of_web = run("costs", web)
    data = json.loads(run("costs", web, "--days", "--prices", str(prices), "--json").stdout)

    header, first, last = shown.stdout.splitlines()[2:]
    assert header.split() == [
        *("DATASET", "STORED", "INGESTED", "MERGED", "SCANNED", "READ", "REQUESTS"),
        *("WRITE", "REQUESTS", "CPU", "S", "COST", "EUR"),
    ]
    # 2 GiB of 0.5, half a GiB of 2, 0.01 and 0.02 for requests, 11 s of 0.001.
    assert first.split()[0] == web
    assert first.split()[-4:] == ["100", "20", "11.0", "2.04"]
    assert (last.split()[0], last.split()[-2:]) == ("(idle)", ["2.0", "0.00"])
    assert [line.split()[0] for line in of_web.stdout.splitlines()[3:]] == ["ingest", "query"]
    assert data["currency"] == "EUR"
    assert [(row["kind"], row["price"]) for row in data["costs"]] == [
        ("ingest", "1.030000"),
        ("query", "1.011000"),
    ]


def test_another_month_has_nothing(web: str, run: RunCommand) -> None:
    data = json.loads(run("costs", "--month", "2025-01", "--json").stdout)

    assert (data["month"], data["days"], data["datasets"]) == ("2025-01", 31, [])
    assert run("costs", "--days").exit_code == 2
    assert run("costs", "--month", "soon").exit_code != 0
    assert run("costs", f"not-{web}").exit_code != 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs a currency"),
        ('currency = "EUR"\ncpu = 1', "has 'cpu', expected some of"),
        ('currency = "EUR"\ncpu_hour = -1', "cpu_hour is -1, not a price"),
        ('currency = "EUR"\ncpu_hour = "1"', "not a price"),
        ('currency = "EUR"\ncpu_hour = true', "not a price"),
        ('currency = "EUR"\ncpu_hour = nan', "not a price"),
        ('currency = "EUR"\ncpu_hour = [1]', "not a price"),
        ("currency = ", "is not TOML"),
    ],
)
def test_a_file_of_prices_that_makes_no_sense_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)

    with pytest.raises(PricesInvalid, match=message):
        read_prices(file)


def test_a_file_of_prices_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PricesInvalid, match="cannot be read"):
        read_prices(tmp_path / "prices.toml")
