"""The histogram of a search, its facets, and the values of a field."""

from urllib.parse import quote, urlencode

import pytest
from starlette.datastructures import QueryParams

from segplane.gateway.console.logs.asked import parse_ask
from segplane.gateway.console.logs.histogram import BUCKETS_MAX, step_of
from segplane.gateway.console.time_range import absolute_range
from segplane.gateway.http.refusals import QueryRefusal
from tests.segplane.console.log_records import NOON, several, write_logs
from tests.segplane.console.test_logs import DAY, bodies, opened, path
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer

HOUR = 3_600 * 10**9


def part(console: GatewayServer, page: HtmlPage) -> HtmlPage:
    """Ask for the histogram as a page does once it is there."""
    (aside,) = page.all("aside")
    assert aside.attributes["hx-trigger"] == "load"
    address = aside.attributes["hx-get"].lstrip("/")
    return HtmlPage(console.get(address, **{"HX-Request": "true"}))


def facets(page: HtmlPage) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for element in page.elements:
        if element.tag == "summary":
            values[element.text] = []
        elif element.tag == "li":
            values[list(values)[-1]].append(element.text)
    return values


def test_a_histogram_counts_records_by_time_and_severity(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(3, severity_number=17), *several(2, severity_number=9))
    write_logs(segments, {"timestamp": NOON + HOUR}, {"timestamp": NOON - 24 * HOUR})

    page = part(console, opened(console, path()))

    (table,) = page.all("table")
    start, end = 1_767_225_600_000, 1_767_312_000_000
    assert {n: v for n, v in table.attributes.items() if n.startswith("data-")} == {
        "data-histogram": "",
        "data-from": str(start),
        "data-to": str(end),
        "data-step": "1800000",
    }
    counts = {
        int(row.attributes["data-start"]): [int(n) for n in row.text.split()[2:]]
        for row in page.all("tr")
        if "data-start" in row.attributes
    }
    assert list(counts) == list(range(start, end, 1_800_000))
    assert counts[NOON // 10**6] == [0, 3, 0, 2, 0, 0, 0]
    assert counts[(NOON + HOUR) // 10**6] == [0, 0, 0, 0, 0, 0, 1]
    assert sum(map(sum, counts.values())) == 6
    assert page.all("p")[0].text == "6 records"


def test_facets_have_the_values_of_the_fields_that_tell_records_apart(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    routes = [{"route": "/a" if n % 3 else "/b", "id": f"id-{n}", "same": 1} for n in range(30)]
    records = several(30, severity_number=9)
    write_logs(
        segments,
        *[{**r, "attributes": a} for r, a in zip(records, routes, strict=True)],
        {"service_name": "db", "severity_number": 17},
    )

    page = part(console, opened(console, path()))

    assert facets(page) == {
        "Histogram as a table": [],
        "severity": ["INFO not INFO 30", "ERROR not ERROR 1"],
        "service_name": ["web not web 30", "db not db 1"],
        "attributes.route": ["/a not /a 20", "/b not /b 10", "(none) not (none) 1"],
    }
    assert len(bodies(opened(console, page.link("/b")))) == 10
    assert len(bodies(opened(console, page.link("(none)")))) == 1
    assert len(bodies(opened(console, page.link("not ERROR")))) == 30


def test_values_of_a_field_are_found_on_the_server(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *[{"attributes": {"user": f"u-{n:03d}"}} for n in range(120)])
    field = ("field", "attributes.user")
    long = path(field, ("find", ""), route="logs/values")

    some = opened(console, path(field, ("find", "U-01"), route="logs/values"))
    none = opened(console, path(field, ("find", "%"), route="logs/values"))
    every = opened(console, long)

    assert [e.text for e in some.all("span", class_="count")] == ["1"] * 10
    assert some.link("u-010").startswith("ui/logs?dataset=web")
    assert "No value holds the text" in none.text
    assert len(every.all("li")) == 50
    assert "There are more values" in every.text
    wrong = console.get(path(("field", "nothing"), route="logs/values"))
    assert (wrong.status, "there is no column 'nothing'" in HtmlPage(wrong).text) == (400, True)


def test_a_failure_of_the_histogram_leaves_the_rows(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(2))
    failing = [("dataset", "web"), *DAY, ("facets", "nothing")]
    address = f"ui/logs/histogram?{urlencode(failing, quote_via=quote)}"

    answer = console.get(address, **{"HX-Request": "true"})

    assert answer.status == 400
    page = HtmlPage(answer)
    assert "there is no column 'nothing'" in page.all("div", role="alert")[0].text
    assert len(bodies(opened(console, path()))) == 2


def test_a_range_of_any_length_has_some_buckets() -> None:
    for length in (1, 10**6, 999_999_999, HOUR, 24 * HOUR, 365 * 24 * HOUR, 2**63 - 2):
        range_ = absolute_range(0, length)
        assert length // 10**6 / step_of(range_) <= BUCKETS_MAX


def test_an_ask_has_at_most_four_facets() -> None:
    four = [("facets", f"f{n}") for n in range(4)]
    dataset = ("dataset", "web")

    assert len(parse_ask(QueryParams([dataset, *four]), NOON).facets) == 4
    with pytest.raises(QueryRefusal, match="facets is given 5 times"):
        parse_ask(QueryParams([dataset, *four, ("facets", "more")]), NOON)
