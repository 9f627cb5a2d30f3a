"""The query page: results, errors at their words, old versions, plans, downloads."""

import json
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlencode

import pytest

from segplane.gateway.console.query.rows import ROWS_MAX
from tests.segplane.console.log_records import NOON, several, write_logs
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer


def path(text: str, *others: tuple[str, str], lang: str = "kql", route: str = "") -> str:
    pairs = [("lang", lang), ("q", text), *others]
    return f"ui/query{route}?{urlencode(pairs, quote_via=quote)}"


def opened(console: GatewayServer, address: str, status: int = 200) -> HtmlPage:
    answer = console.get(address)
    assert answer.status == status, answer.body.decode()
    return HtmlPage(answer)


def cells(page: HtmlPage) -> list[str]:
    return [cell.text for cell in page.all("td")]


def end(page: HtmlPage) -> str:
    return page.all("p", data_end="")[0].text


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("kql", "web\n| summarize n = count() by service_name\n| sort by n desc"),
        ("sql", "SELECT service_name, count(*) AS n FROM web\nGROUP BY 1 ORDER BY n DESC"),
    ],
)
def test_a_result_is_a_table_and_the_form_keeps_the_query(
    console: GatewayServer, segments: SegmentWriter, lang: str, text: str
) -> None:
    write_logs(segments, *several(3, service_name="<b>shop</b>"), {"service_name": "db"})

    page = opened(console, path(text.replace("\n", "\r\n"), lang=lang))

    assert [cell.text for cell in page.all("th")] == ["service_name", "n"]
    assert cells(page) == ["<b>shop</b>", "3", "db", "1"]
    assert end(page) == "2 rows."
    assert "".join(page.all("textarea")[0].pieces).removeprefix("\n") == text
    assert [o.attributes["value"] for o in page.all("option") if "selected" in o.attributes] == [
        lang
    ]


def test_the_page_has_a_thousand_rows_and_a_download_has_all(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=1)
    for extra in (0, 1):
        text = f"print n = 1 | mv-expand n = range(1, {ROWS_MAX + extra}, 1) | project n"
        page = opened(console, path(text))

        assert len(page.all("td")) == ROWS_MAX
        assert end(page).startswith("The first 1,000 rows; there are more" if extra else "1,000 r")
    rows = json.loads(console.get(page.link("json")).body)
    assert len(rows) == ROWS_MAX + 1


def test_a_download_has_the_query_and_no_formulas(console: GatewayServer) -> None:
    page = opened(console, path("SELECT '=1+1' AS a, -1 AS n", lang="sql"))

    answer = console.get(page.link("csv"))

    assert answer.body == b"a,n\r\n'=1+1,-1\r\n"
    assert answer.headers["content-disposition"] == 'attachment; filename="result.csv"'
    assert console.get(page.link("parquet")).body.startswith(b"PAR1")
    other = path("SELECT 1", ("format", "exe"), lang="sql", route="/download")
    assert console.get(other).status == 400


def test_long_values_and_many_columns_are_cut_and_nulls_are_told_from_empty_texts(
    console: GatewayServer,
) -> None:
    long = opened(console, path("SELECT repeat('x', 5000) AS a, NULL AS b, '' AS c", lang="sql"))
    columns = ", ".join(f"{n} AS c{n}" for n in range(101))
    wide = opened(console, path(f"SELECT {columns}", lang="sql"))

    assert cells(long) == ["x" * 4_096 + " … cut after 4,096 characters", "null", ""]
    assert len(wide.all("th")) == 100
    assert end(wide) == "1 row. 100 of 101 columns are shown."


@pytest.mark.parametrize(
    ("lang", "text", "line", "column"),
    [
        ("kql", "web\n| where bodi has 'x'", 2, 9),
        ("sql", "SELECT *\nFROM web\nWHERE bodi = 'x'", 3, 7),
        ("sql", "SELECT * FROM web\nWHERE (body = 'x'", 2, 17),
        ("kql", "wep | count", 1, 1),
    ],
)
def test_an_error_is_under_the_word_that_caused_it(
    console: GatewayServer, segments: SegmentWriter, lang: str, text: str, line: int, column: int
) -> None:
    segments.write(rows=1)

    page = opened(console, path(text, lang=lang), 400)

    error = page.all("div", data_error="")[0]
    assert (error.attributes["data-line"], error.attributes["data-column"]) == (
        str(line),
        str(column),
    ), error
    assert f"Line {line}, column {column}: " in page.all("li")[-1].text
    excerpt = "".join(page.all("pre")[-1].pieces).splitlines()
    assert excerpt == [text.split("\n")[line - 1], " " * (column - 1) + "^"]


@pytest.mark.long
def test_a_query_reads_a_version_or_a_time_of_the_past(
    console: GatewayServer, segments: SegmentWriter, meta_server: MetaServer
) -> None:
    segments.write(rows=3)
    with meta_server.running.database.write() as tx:
        for table in ("segments", "datasets"):
            tx.exec_driver_sql(
                f"UPDATE {table} SET created_at = created_at - interval '1 hour'"  # noqa: S608
            )
    plan = opened(console, path("web | count", route="/plan"))
    version = plan.text.split("at version ")[1].split(":")[0]
    segments.write(rows=4)
    then = (datetime.now(UTC) - timedelta(minutes=30)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def count(*others: tuple[str, str]) -> list[str]:
        return cells(opened(console, path("web | count", *others)))

    # Each is asked after another, since datasets are kept open between queries.
    for _ in range(2):
        assert count() == ["7"]
        assert count(("version", version)) == ["3"]
        assert count(("at", then)) == ["3"]
        assert count(("at", "-30m")) == ["3"]
        assert count(("at", "now")) == ["7"]
    early = opened(console, path("web | count", ("at", "-9h")), 400)
    assert "did not exist yet" in early.text
    for others in ([("version", "1"), ("at", "-1h")], [("version", "x")], [("at", "soon")]):
        opened(console, path("web | count", *others), 400)


def test_a_plan_says_what_is_read_and_what_is_not(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(2), {"timestamp": NOON - 10**15})

    page = opened(console, path("web | where timestamp > ago(1d) | count", route="/plan"))
    wrong = opened(console, path("web | cont", route="/plan"), 400)

    assert "SQL (DuckDB):" in page.text
    assert "dataset web at version" in page.text
    assert "files 0 with 0 rows" in page.text
    assert "Line 1, column 7: " in wrong.text


def test_a_plan_names_files_by_their_keys(console: GatewayServer, segments: SegmentWriter) -> None:
    write_logs(segments, *several(2))

    page = opened(console, path("web", route="/plan"))

    assert "files 1 with 2 rows" in page.text
    assert ".parquet" in page.text
    assert not re.search(r"\s/\S+\.parquet", page.text)


def test_results_over_time_can_be_drawn(console: GatewayServer, segments: SegmentWriter) -> None:
    write_logs(segments, *several(3))
    text = "web | summarize n = count() by bin(timestamp, 1s), service_name"

    table = opened(console, path(text)).all("table")[0]
    other = opened(console, path("web | project body")).all("table")[0]

    assert {n: v for n, v in table.attributes.items() if n.startswith("data-")} == {
        "data-chart-time": "0",
        "data-chart-numbers": "2",
        "data-chart-series": "1",
    }
    assert "data-chart-time" not in other.attributes


def test_without_a_query_the_form_is_there(console: GatewayServer) -> None:
    page = opened(console, "ui/query")

    assert page.all("textarea")[0].text == ""
    opened(console, "ui/query?lang=prolog", 400)
    opened(console, f"ui/query?q={'x' * 4_096}", 414)
