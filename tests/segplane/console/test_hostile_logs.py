"""Hostile records, names and searches: they are text on every page, and no element of it."""

from urllib.parse import quote, urlencode

import pytest

from segplane.gateway.console.logs import records
from tests.segplane.console.log_records import NOON, write_logs
from tests.segplane.console.test_logs import DAY, opened, path, rows
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer

# Elements, quotes of attributes, templates, ends of elements, marks of direction, line feeds.
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>\"'> onload=1 {{ 7 * 7 }} {% raw %}"
    "</td></table></pre><!-- \u202e\x1b[31m &lt;b&gt; \r\nset-cookie: a=b javascript:alert(1)"
)
EXPECTED_TAGS = frozenset(
    [
        *("html", "head", "meta", "title", "body", "main", "h1", "h2", "h3", "p", "a", "strong"),
        *("form", "label", "input", "button", "code", "nav", "ul", "li", "span", "div", "pre"),
        *("table", "caption", "thead", "tbody", "tr", "th", "td", "time", "section", "aside"),
        *("details", "summary", "mark", "header"),
    ]
)
# Of the frame of every page, each with a file of the console.
STATIC_TAGS = frozenset(["script", "link", "img"])
ADDRESSES = ("href", "hx-get", "action")


def check(page: HtmlPage) -> None:
    """Check that a page has no element, attribute or address that no template has."""
    assert {element.tag for element in page.elements} <= EXPECTED_TAGS | STATIC_TAGS
    for element in page.elements:
        if element.tag in STATIC_TAGS:
            (address,) = {"src", "href"} & set(element.attributes)
            assert element.attributes[address].startswith("/ui/static/")
            assert element.text == ""
        names = set(element.attributes)
        assert not any(name.startswith("on") or name == "style" for name in names), names
        for name in ADDRESSES:
            assert element.attributes.get(name, "/ui/").startswith(("/ui/", "#content")), element


@pytest.mark.long
def test_hostile_records_are_text_everywhere(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    texts = ("service_name", "severity_text", "event_name", "scope_name", "trace_id", "span_id")
    bag = {"k": HOSTILE, HOSTILE: HOSTILE, "nested": {HOSTILE: [HOSTILE]}}
    hostile = {
        **dict.fromkeys((*texts, "scope_version", "resource_schema_url"), HOSTILE),
        **dict.fromkeys(("attributes", "resource_attributes", "scope_attributes"), bag),
    }
    write_logs(
        segments,
        {**hostile, "body": HOSTILE},
        {**hostile, "body": f'{{"a":"{HOSTILE[:20]}"}}', "timestamp": NOON + 1},
        {**hostile, "attributes": {**bag, "k": "other"}, "timestamp": NOON + 2},
    )
    shown = [("columns", "attributes.k"), ("columns", "service_name")]

    page = opened(console, path(*shown))
    check(page)
    assert len(rows(page)) == 3
    assert HOSTILE[:50] in page.text
    for row in rows(page):
        record = opened(console, row.attributes["href"].lstrip("/"))
        check(record)
        assert "U+202E" in record.text
    aside = page.all("aside")[0]
    for address in (
        aside.attributes["hx-get"],
        path(("field", "attributes.k"), route="logs/values"),
    ):
        counted = opened(console, address.lstrip("/"))
        check(counted)
        assert HOSTILE[:50] in counted.text
        only = next(e for e in counted.all("a") if e.text.startswith("<script>"))
        filtered = opened(console, only.attributes["href"].lstrip("/"))
        check(filtered)
        assert len(rows(filtered)) >= 2


@pytest.mark.parametrize("name", ["q", "from", "to", "only", "not", "columns", "after", "dataset"])
def test_hostile_parameters_are_text(
    console: GatewayServer, segments: SegmentWriter, name: str
) -> None:
    write_logs(segments, {"body": "x"})
    parameters = dict([("dataset", "web"), *DAY]) | {name: HOSTILE}
    query = urlencode(parameters, quote_via=quote)

    for route in ("logs", "logs/record", "logs/histogram", "logs/values", "empty", ""):
        answer = console.get(f"ui/{route}?{query}")
        assert answer.status in (200, 400, 404), (route, answer)
        check(HtmlPage(answer))
    named = console.get(f"ui/?{urlencode({'name': HOSTILE, 'after': ''})}")
    check(HtmlPage(named))


def test_a_record_too_large_for_a_page_is_refused(
    console: GatewayServer, segments: SegmentWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "RECORD_BYTES_MAX", 100_000)
    # The other columns of the record need less than 8,192 bytes.
    for spare, status in ((8_192, 200), (0, 422)):
        large = {"k": "x" * (100_000 - spare)}
        write_logs(segments, {"body": f"spare {spare}", "attributes": large})
        (row,) = rows(opened(console, path(("q", f'"spare {spare}"'))))

        answer = console.get(row.attributes["href"].lstrip("/"))

        assert answer.status == status
    assert b"more than 100,000 bytes" in answer.body
