"""The page of the records around one log record."""

import re
from urllib.parse import quote

from segplane.gateway.console.logs.around import SIDE_ROWS
from tests.segplane.console.log_records import NOON, Record, write_logs
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer

SECOND = 10**9


def around(console: GatewayServer, body: str) -> HtmlPage:
    """Open the page around the record with a body, by the links of the pages before it."""
    times = "from=2026-01-01T00:00:00Z&to=2026-01-03T00:00:00Z"
    listed = console.get(
        f"ui/logs?dataset=web&{times}&q={quote(f'body == {body!r}')}"
    ).body.decode()
    record = re.search(r'href="/(ui/logs/record[^"]*)"', listed)
    assert record is not None, listed
    opened = console.get(record[1].replace("&amp;", "&")).body.decode()
    address = re.search(r'href="/(ui/logs/around[^"]*)"', opened)
    assert address is not None, opened
    answer = console.get(address[1].replace("&amp;", "&"))
    assert answer.status == 200, answer.body.decode()
    return HtmlPage(answer)


def bodies(page: HtmlPage) -> list[str]:
    return [cell.text for cell in page.all("td", class_="body")]


def test_fifty_records_of_the_service_are_on_each_side(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    mine: list[Record] = [
        # Three records a time, some in one microsecond.
        {"timestamp": NOON + n // 3 * SECOND + n % 3 // 2 * 7, "body": f"mine {n}"}
        for n in range(150)
    ]
    others = [
        {"timestamp": NOON + n * SECOND, "body": f"other {n}", "service_name": "stock"}
        for n in range(50)
    ]
    write_logs(segments, *mine, *others)

    page = around(console, "mine 70")

    texts = bodies(page)
    marked = texts.index("This record: mine 70")
    assert (len(texts), marked) == (2 * SIDE_ROWS + 1, SIDE_ROWS)
    numbers = [int(text.rsplit(" ", 1)[1]) for text in texts]
    assert len(set(numbers)) == len(numbers)
    assert set(range(25, 117)) <= set(numbers)
    assert [row.attributes.get("aria-current") for row in page.all("tr")].count("true") == 1


def test_a_service_with_few_records_is_looked_for_within_a_day(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    hour = 3_600 * SECOND
    write_logs(
        segments,
        {"timestamp": NOON, "body": "here", "service_name": None},
        {"timestamp": NOON + 3 * hour, "body": "later", "service_name": None},
        {"timestamp": NOON - 3 * hour, "body": "earlier", "service_name": None},
        {"timestamp": NOON + 30 * hour, "body": "too late", "service_name": None},
        {"timestamp": NOON + hour, "body": "of a service"},
    )

    assert bodies(around(console, "here")) == ["later", "This record: here", "earlier"]


def test_a_record_that_is_not_there_has_nothing_around_it(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, {"body": "here"})
    at = "2026-01-01T12:00:00.000000000Z"

    assert console.get(f"ui/logs/around?dataset=web&at={at}&digest={'0' * 64}").status == 404
    assert console.get(f"ui/logs/around?dataset=web&at={at}&digest=x").status == 400


def test_equal_records_are_around_one_as_often_as_they_are_there(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    equal: Record = {"timestamp": NOON, "body": "equal"}
    older: Record = {"timestamp": NOON - 1, "body": "older"}
    write_logs(segments, {"timestamp": NOON + 1, "body": "newer"}, *[equal] * 3, older)

    page = around(console, "equal")

    assert bodies(page) == [
        *("newer", "This record: equal", "Equal to it: equal", "Equal to it: equal", "older")
    ]
    assert "1 records after it and 1 before it" in page.text
    assert "3 equal records are marked" in page.text


def test_records_of_the_same_resource_are_around_one(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    pods = [{"k8s.pod.name": name} for name in ("a", "b")]
    write_logs(
        segments,
        *[
            {"timestamp": NOON + n, "body": f"line {n}", "resource_attributes": pods[n % 2]}
            for n in range(6)
        ],
    )

    page = around(console, "line 2")
    of_resource = HtmlPage(console.get(page.link("The same resource").lstrip("/")))

    assert len(bodies(page)) == 6
    assert bodies(of_resource) == ["line 4", "This record: line 2", "line 0"]
    by = page.link("The same resource").lstrip("/").replace("by=resource", "by=host")
    assert console.get(by).status == 400
