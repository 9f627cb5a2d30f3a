"""Pages about traces, over real segments."""

import re
import time
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.traces import MS, TRACE, log_row, span_row, write_rows

SECOND = 10**9
START = time.time_ns() // SECOND * SECOND - 600 * SECOND
HOSTILE = "<script>alert(1)</script>'\"&\u202e"
ELEMENTS_MAX = 1_500


class Elements(HTMLParser):
    """The elements of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes |= {name for name, _ in attrs}


def page(console: GatewayServer, path: str, status: int = 200) -> str:
    answer = console.get(f"ui/{path}")
    html = answer.body.decode()
    assert answer.status == status, html
    assert not {"style", "onclick"} & Elements(html).attributes
    return html


def rows(html: str) -> list[str]:
    """The text of each row of a page."""
    texts = re.findall(r"<tr data-row.*?</tr>", html, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", text).split()) for text in texts]


@pytest.fixture
def shop(segments: SegmentWriter) -> SegmentWriter:
    links = f'[{{"trace_id":"{"b" * 32}","span_id":"{"c" * 16}","attributes":{{"why":"batch"}}}}]'
    events = (
        f'[{{"time_unix_nano":{START + 3 * MS},"name":"exception","attributes":{{"type":"Oops"}}}}]'
    )
    write_rows(
        segments,
        traces=[
            span_row("a1", start_nanos=START, length_ms=100, name="GET /cart", kind=2),
            span_row("b1", "a1", start_nanos=START + MS, length_ms=50, events=events, links=links,
                     name="SELECT", status_code=2, status_message="no table",
                     attributes={"db.system": "postgresql", "rows": 3}),
            span_row("c1", "lost", start_nanos=START + 5 * MS, service_name="stock"),
            span_row("d1", trace_id="d" * 32, start_nanos=START + SECOND, name="POST /pay",
                     service_name="pay", length_ms=2_500),
        ],
        logs=[log_row("of the trace", nanos=START + 2 * MS), log_row("of none", nanos=START,
              trace_id=None)],
    )  # fmt: skip
    return segments


@pytest.mark.usefixtures("shop")
def test_the_newest_traces_come_first_with_their_roots(console: GatewayServer) -> None:
    listed = rows(page(console, "traces?dataset=web"))

    assert len(listed) == 2
    assert listed[0].endswith("pay POST /pay 2.5 s 1 0")
    assert listed[1].endswith("shop GET /cart 100 ms 3 1 error")


@pytest.mark.parametrize(
    ("search", "operations"),
    [
        ("service=stock", ["GET /cart"]),
        ("operation=SELECT", ["GET /cart"]),
        ("operation=POST*", ["POST /pay"]),
        ("longer=1.5s", ["POST /pay"]),
        ("shorter=20ms", ["GET /cart"]),
        ("status=error", ["GET /cart"]),
        ("q=" + quote("attributes['db.system'] == 'postgresql'"), ["GET /cart"]),
        ("q=" + quote("toint(attributes.rows) > 3"), []),
        ("service=stock&operation=SELECT", []),
        ("from=-5m&to=now", []),
    ],
)
@pytest.mark.usefixtures("shop")
def test_traces_are_searched_by_their_spans(
    console: GatewayServer, search: str, operations: list[str]
) -> None:
    listed = rows(page(console, f"traces?dataset=web&{search}"))

    assert len(listed) == len(operations)
    assert all(name in row for name, row in zip(operations, listed, strict=True))


@pytest.mark.usefixtures("shop")
def test_a_condition_that_is_no_kql_is_shown_with_its_words(console: GatewayServer) -> None:
    html = page(console, "traces?dataset=web&q=" + quote("name === 'x'"), 400)

    assert 'role="alert"' in html
    assert "name === &#39;x&#39;" in html
    for refused in ("status=bad", "longer=5", "from=never", "after=x"):
        page(console, f"traces?dataset=web&{refused}", 400)


def test_a_list_of_traces_has_pages_of_a_hundred(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_rows(
        segments,
        traces=[
            span_row("a", trace_id=f"{n:032x}", start_nanos=START + n // 2 * MS) for n in range(101)
        ],
    )

    first = page(console, "traces?dataset=web")
    following = re.search(r'rel="next" href="/ui/([^"]*)"', first)
    assert following is not None
    second = page(console, following[1].replace("&amp;", "&"))

    assert (len(rows(first)), len(rows(second))) == (100, 1)
    assert 'rel="next"' not in second
    ids = re.findall(r"/ui/traces/([0-9a-f]{32})\?", first + second)
    assert sorted(ids) == [f"{n:032x}" for n in range(101)]


@pytest.mark.usefixtures("shop")
def test_a_trace_is_a_waterfall_with_what_is_odd_about_it(console: GatewayServer) -> None:
    html = page(console, f"traces/{TRACE}?dataset=web")

    listed = rows(html)
    assert [row.split("▾")[-1].split()[0] for row in listed] == ["GET", "SELECT", "Missing", "op"]
    assert "error: no table" in listed[1]
    assert html.count('<path class="bar-event"') == 1
    assert "1 event; 1 link" in listed[1]
    assert "Missing parents: 1." in html
    assert "100 ms, 3 spans, errors: 1" in html
    assert html.count("<rect") == 4
    page(console, f"traces/{'e' * 32}?dataset=web", 404)
    page(console, f"traces/{TRACE}?dataset=none", 400)


@pytest.mark.usefixtures("shop")
def test_a_subtree_is_closed_and_a_time_zoomed_by_the_address(console: GatewayServer) -> None:
    closed = rows(page(console, f"traces/{TRACE}?dataset=web&closed=a1"))
    zoom = "zoom_from=" + quote(_time(START + 60 * MS)) + "&zoom_to=" + quote(_time(START + SECOND))
    zoomed = rows(page(console, f"traces/{TRACE}?dataset=web&{zoom}"))

    assert len(closed) == 3
    assert "errors in its subtree: 1" in closed[0]
    assert [row.split()[1] for row in zoomed] == ["GET"]


@pytest.mark.usefixtures("shop")
def test_a_span_has_its_attributes_events_and_links(console: GatewayServer) -> None:
    address = f"ui/traces/{TRACE}/span?dataset=web&span=b1"
    whole = console.get(address).body.decode()
    part = console.get(address, **{"HX-Request": "true"}).body.decode()

    for html in (whole, part):
        for text in ("db.system", "postgresql", "exception", "2 ms", "Oops", "batch", "no table"):
            assert text in html
        assert f"/ui/traces/{'b' * 32}?dataset=web" in html
        assert "zoom_from=" in html
    assert "<html" in whole
    assert "<html" not in part
    assert console.get(f"ui/traces/{TRACE}/span?dataset=web&span=x").status == 404


@pytest.mark.usefixtures("shop")
def test_the_logs_of_a_trace_are_beside_it(console: GatewayServer) -> None:
    html = page(console, f"traces/{TRACE}/logs?dataset=web")

    assert [row.endswith("shop of the trace") for row in rows(html)] == [True]
    record = re.search(r'href="/ui/(logs/record[^"]*)"', html)
    assert record is not None
    opened = page(console, record[1].replace("&amp;", "&"))
    assert f"/ui/traces/{TRACE}?dataset=web" in opened


def test_hostile_texts_of_spans_are_texts(console: GatewayServer, segments: SegmentWriter) -> None:
    row = span_row(
        "a", start_nanos=START, name=HOSTILE, service_name=HOSTILE, status_code=2,
        status_message=HOSTILE, trace_state=HOSTILE, attributes={HOSTILE: HOSTILE},
        events=f'[{{"name":"x<script>","attributes":{{"{"<b>"}":"<i>"}}}}, 7]',
    )  # fmt: skip
    write_rows(segments, traces=[row], logs=[log_row(HOSTILE, nanos=START, service_name=HOSTILE)])

    searched = f"traces?dataset=web&service={quote(HOSTILE)}&operation={quote(HOSTILE)}"
    for path in (
        searched,
        f"traces/{TRACE}?dataset=web",
        f"traces/{TRACE}/span?dataset=web&span=a",
        f"traces/{TRACE}/logs?dataset=web",
    ):
        html = page(console, path)
        assert not {"i", "b"} & set(Elements(html).names)
        assert "alert(1)</script>" not in html
        assert "alert(1)" in html


@pytest.mark.long
def test_a_trace_of_ten_thousand_spans_is_a_page_of_few_elements(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    spans = [span_row("0", start_nanos=START, length_ms=20_000)]
    spans += [
        span_row(f"{n:x}", f"{n - 1 if n % 200 else 0:x}", start_nanos=START + n * MS)
        for n in range(1, 10_001)
    ]
    write_rows(segments, traces=spans[:10_000])
    whole = page(console, f"traces/{TRACE}?dataset=web")
    write_rows(segments, traces=spans[10_000:])

    html = page(console, f"traces/{TRACE}?dataset=web&first=9900")

    assert "more than 10,000 spans" not in whole
    assert "more than 10,000 spans" in html
    assert "Rows 9,901 to 10,000 of 10,000" in html
    assert len(Elements(html).names) <= ELEMENTS_MAX


def _time(nanos: int) -> str:
    seconds, fraction = divmod(nanos, SECOND)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{fraction:09d}Z"
