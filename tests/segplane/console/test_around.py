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
