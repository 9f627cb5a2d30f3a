"""POST /v1/query: queries in KQL and SQL, as JSON, CSV and Arrow."""

import csv

import pyarrow as pa
import pytest

from meta.costs.accumulator import Work
from meta.v1 import costs_pb2 as pb
from tests.segplane.query.test_forms import DOORS
from tests.support.costs import charged
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.waiting import wait_until


def test_a_query_is_answered_in_each_format(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=30)
    segments.write(rows=12, signals=("traces",), format_version=1)
    kql = "web | summarize n = count() by signal | sort by signal asc"
    sql = "SELECT signal, count(*) AS n FROM web GROUP BY signal ORDER BY signal"

    for text, language in ((kql, "kql"), (sql, "sql"), (kql, None), (sql, None)):
        answer = gateway.query(text, language=language)
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json"), answer
        assert answer.json == [{"signal": "logs", "n": 30}, {"signal": "traces", "n": 12}]

    assert gateway.query(kql, format="csv").body == b"signal,n\nlogs,30\ntraces,12\n"
    table = pa.ipc.open_stream(gateway.query(kql, format="arrow").body).read_all()
    assert table.to_pydict() == {"signal": ["logs", "traces"], "n": [30, 12]}


@pytest.mark.parametrize(("query", "value"), DOORS, ids=[door[0] for door in DOORS])
def test_types_have_the_forms_of_the_command_line(
    gateway: GatewayServer, query: str, value: str
) -> None:
    as_csv = gateway.query(query, format="csv").body.decode()

    assert gateway.query(query).body.decode() == f'[\n {{"x": {value}}}\n]\n'
    cell = next(csv.reader(as_csv.splitlines()[1:]))[0]
    assert "".join(cell.split()) == "".join(value.split())
    table = pa.ipc.open_stream(gateway.query(query, format="arrow").body).read_all()
    assert (table.num_rows, table.column_names) == (1, ["x"])


def test_equal_names_far_times_and_infinite_numbers_are_answered(gateway: GatewayServer) -> None:
    names = gateway.query("SELECT 1 AS a, 2 AS a")
    far = gateway.query("SELECT timestamptz '9999-12-31' + INTERVAL 1 DAY AS t, date 'infinity' d")
    numbers = gateway.query("print a = 1.0 / 0, b = 0.0 / 0")

    assert names.json == [{"a": 1, "a1": 2}]
    assert far.json == [{"t": "10000-01-01T00:00:00.000000Z", "d": "infinity"}]
    assert numbers.json == [{"a": "Infinity", "b": "NaN"}]


def test_a_result_of_many_pieces_comes_whole(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=3)
    text = "SELECT r.range AS n, repeat('x', 100) AS pad FROM range(50000) r"

    rows = gateway.query(text).json

    assert [row["n"] for row in rows] == list(range(50_000))


def test_a_query_is_charged_to_its_dataset(gateway: GatewayServer, segments: SegmentWriter) -> None:
    segments.write(rows=30)
    charged(Work.QUERY)

    assert gateway.query("web | count").json == [{"Count": 30}]

    charges: dict[str, pb.CostAmounts] = {}
    # The end of a query follows its answer.
    wait_until(
        lambda: bool(charges), "the charge", tick=lambda: charges.update(charged(Work.QUERY))
    )
    (amounts,) = charges.values()
    assert amounts.bytes > 0
    assert amounts.cpu_micros > 0
