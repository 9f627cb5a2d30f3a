"""The logs page: rows, pages of them, one record, filters and columns."""

from collections.abc import Sequence
from urllib.parse import quote, urlencode

import pytest

from segplane.gateway.console.logs.records import PAGE_ROWS
from tests.segplane.console.log_records import NOON, several, write_logs
from tests.support.gateway.html import Element, HtmlPage
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer

DAY = [("from", "2026-01-01T00:00:00Z"), ("to", "2026-01-02T00:00:00Z")]


def path(*parameters: tuple[str, str], route: str = "logs", dataset: str = "web") -> str:
    pairs = [("dataset", dataset), *DAY, *parameters]
    return f"ui/{route}?{urlencode(pairs, quote_via=quote)}"


def opened(console: GatewayServer, address: str, status: int = 200) -> HtmlPage:
    answer = console.get(address)
    assert answer.status == status, answer.body.decode()
    return HtmlPage(answer)


def bodies(page: HtmlPage) -> Sequence[str]:
    return [cell.text for cell in page.all("td", class_="body")]


def rows(page: HtmlPage) -> Sequence[Element]:
    return [link for link in page.all("a") if "hx-target" in link.attributes]


def test_rows_are_the_newest_with_all_digits_of_their_times(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(
        segments,
        {"timestamp": NOON + 123_456_789, "body": "second", "severity_number": 17},
        {"timestamp": NOON + 123_456_788, "body": "first", "severity_number": None},
        {"timestamp": NOON + 999_000_000, "body": "third", "severity_text": "odd"},
    )

    page = opened(console, path())

    assert bodies(page) == ["third", "second", "first"]
    assert [row.text for row in rows(page)] == [
        "2026-01-01 12:00:00.999000000",
        "2026-01-01 12:00:00.123456789",
        "2026-01-01 12:00:00.123456788",
    ]
    severities = [e.text for e in page.all("span") if "severity" in e.attributes.get("class", "")]
    assert severities == ["odd", "ERROR", ""]


def test_pages_have_every_record_once_even_if_many_have_one_time(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *[{"body": f"tie {n}", "timestamp": NOON} for n in range(250)])
    write_logs(segments, *[{"attributes": {"n": n}, "timestamp": NOON + 1} for n in range(250)])
    write_logs(segments, *[{"body": f"old {n}", "timestamp": NOON - 1_000 - n} for n in range(50)])

    page = opened(console, path())
    pages = [bodies(page)]
    while any(link.text == "Older" for link in page.all("a")):
        page = opened(console, page.link("Older"))
        pages.append(bodies(page))

    every = [text for texts in pages for text in texts]
    assert [len(texts) for texts in pages] == [PAGE_ROWS, PAGE_ROWS, 150]
    assert len(set(every)) == 550
    assert every[:250] == [text for text in every if text.startswith("{")]
    assert every[500:] == [f"old {n}" for n in range(50)]
    newest = opened(console, page.link("Newest"))
    assert bodies(newest) == pages[0]


def test_pages_have_equal_records_as_often_as_they_are_there(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    equal = {"timestamp": NOON, "body": "equal"}
    write_logs(segments, *[equal] * 450, {"timestamp": NOON - 1, "body": "older"})

    first = opened(console, path())
    second = opened(console, first.link("Older"))
    third = opened(console, second.link("Older"))

    assert [bodies(page) for page in (first, second, third)] == [
        ["equal"] * PAGE_ROWS,
        ["equal"] * PAGE_ROWS,
        [*["equal"] * 50, "older"],
    ]
    assert not [link for link in third.all("a") if link.text == "Older"]


def test_words_and_conditions_choose_records_and_are_marked(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(
        segments,
        {"body": "connection Reset by peer", "severity_number": 17},
        {"body": "connection opened", "service_name": "db"},
    )

    words = opened(console, path(("q", "reset")))
    condition = opened(console, path(("q", "service_name == 'db' and body has 'opened'")))
    nothing = opened(console, path(("q", "severity == 'error'")))

    assert bodies(words) == ["connection Reset by peer"]
    assert [mark.text for mark in words.all("mark")] == ["Reset"]
    assert "Understood as words of the body" in words.text
    assert bodies(condition) == ["connection opened"]
    assert "Understood as a condition of KQL" in condition.text
    assert bodies(nothing) == []
    assert "ERROR" in nothing.all("p", class_="notice notice-warning")[0].text


def test_a_search_that_is_wrong_is_refused_under_its_words(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(1))

    for search, message, place in (
        ("body == 'x", "a text in quotes does not end", 8),
        ("nothing == 5", "there is no column 'nothing'", 0),
    ):
        page = opened(console, path(("q", search)), 400)
        assert message in page.all("div", role="alert")[0].text
        excerpt = "".join(page.all("pre")[0].pieces)
        assert excerpt == f"{search}\n{' ' * place}^"
        assert page.all("input", name="q")[-1].attributes["value"] == search
    column = opened(console, path(("columns", "nothing")), 400)
    assert "there is no column 'nothing'" in column.all("div", role="alert")[0].text


def test_a_record_opens_to_all_its_fields(console: GatewayServer, segments: SegmentWriter) -> None:
    nested = '{"x":[1,2.50,{"y":"z"}],"big":12345678901234567890123}'
    write_logs(
        segments,
        {
            "body": '{"user":"u-1"}',
            "timestamp": NOON + 5,
            "observed_timestamp": NOON + 7,
            "trace_id": "a" * 32,
            "attributes": {"nested": nested, "http.route": "/a", "n": 5, "is_ok": True},
        },
    )
    page = opened(console, path())

    address = rows(page)[0].attributes["href"].lstrip("/")
    record = opened(console, address)
    part = console.get(address, **{"HX-Request": "true"})

    assert record.all("pre")[0].text == '{"user":"u-1"}'
    for text in (
        "user u-1",
        "observed_timestamp 2026-01-01T12:00:00.000000007Z",
        "y z",
        "1 2.50",
        "big 12345678901234567890123",
        "is_ok true",
    ):
        assert text in record.text, text
    assert record.link("The trace") == f"ui/traces/{'a' * 32}?dataset=web"
    assert b"<html" not in part.body
    assert part.body.strip() in console.get(address).body
    assert opened(console, record.link("Link to this record")).all("pre")[0].text in record.text


def test_values_of_a_record_become_filters_and_columns(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(
        segments,
        {"body": "one", "attributes": {"n": 5, "k": "it's"}, "timestamp": NOON + 1},
        {"body": "two", "attributes": {"n": 6}},
    )
    record = opened(console, rows(opened(console, path()))[0].attributes["href"].lstrip("/"))
    links = [e.attributes["href"].lstrip("/") for e in record.all("a") if e.text == "only this"]
    without = [e.attributes["href"].lstrip("/") for e in record.all("a") if e.text == "not this"]
    columns = [e.attributes["href"].lstrip("/") for e in record.all("a") if e.text == "as column"]

    chosen = [link for link in links if "attributes" in link]
    assert len(chosen) == 2
    assert [bodies(opened(console, link)) for link in chosen] == [["one"], ["one"]]
    others = [link for link in without if "attributes" in link]
    assert [bodies(opened(console, link)) for link in others] == [["two"], ["two"]]
    filtered = opened(console, chosen[1])
    assert "attributes.k is it's" in filtered.text
    removing = next(e for e in filtered.all("a") if e.text.startswith("remove the filter"))
    assert len(bodies(opened(console, removing.attributes["href"].lstrip("/")))) == 2
    with_column = opened(console, next(link for link in columns if link.endswith("attributes.n")))
    assert [e.text for e in with_column.all("td") if e.text in ("5", "6")] == ["5", "6"]


def test_a_long_body_is_cut_off_and_opens_up_to_its_limit(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, {"body": "x" * 4_096}, {"body": "y" * 262_145, "timestamp": NOON + 1})

    page = opened(console, path())
    long, short = (opened(console, row.attributes["href"].lstrip("/")) for row in rows(page))

    assert [len(text) for text in bodies(page)] == [4_096 + len(" (cut off)"), 4_096]
    assert [len(record.all("pre")[0].text) for record in (long, short)] == [4_096, 4_096]
    whole = opened(console, long.link("Show up to 262,144 characters"))
    assert len(whole.all("pre")[0].text) == 262_144
    assert "longer than 262,144 characters" in whole.text
    assert "Show up to" not in short.text


def test_a_dataset_of_a_group_and_one_with_a_strange_name_have_logs(
    console: GatewayServer, meta_server: MetaServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(1))
    assert opened(console, path(dataset="web' | take 0 //"), status=400).all("div", role="alert")
    assert opened(console, "ui/logs").link("default") == "ui/logs?dataset=default"
    CatalogDriver(meta_server.client).dataset("empty")

    assert "No data yet in empty" in opened(console, path(dataset="empty")).text


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([("from", "yesterday")], "from is 'yesterday'"),
        ([("only", "x")], "a filter is 'x'"),
        ([("columns", f"c{n}") for n in range(11)], "columns is given 11 times"),
        ([("only", f'["a",{n}]') for n in range(21)], "only is given 21 times"),
        ([("after", "2026-01-01T00:00:00Z x 1")], "the address of the record is cut off"),
        ([("after", f"2026-01-01T00:00:00Z {'0' * 64}")], "the address of the page is cut off"),
        ([("after", f"2026-01-01T00:00:00Z {'0' * 64} {10**9}")], "of the page is cut off"),
        ([("tz", "x")], "tz is 'x'"),
    ],
)
def test_an_address_that_is_wrong_is_refused(
    console: GatewayServer,
    segments: SegmentWriter,
    parameters: Sequence[tuple[str, str]],
    message: str,
) -> None:
    answer = console.get(f"ui/logs?dataset=web&{urlencode(parameters)}")

    assert answer.status == 400
    assert message in HtmlPage(answer).text


def test_a_refusal_of_a_part_is_a_part_and_has_the_excerpt(console: GatewayServer) -> None:
    address = path(("q", "body = 1"), ("field", "severity"), route="logs/values")

    part = console.get(address, **{"HX-Request": "true"})
    whole = opened(console, address, status=400)

    assert part.status == 400
    assert b"<html" not in part.body
    assert b'id="content"' not in part.body
    assert HtmlPage(part).all("pre")[0].text == whole.all("pre")[0].text != ""
