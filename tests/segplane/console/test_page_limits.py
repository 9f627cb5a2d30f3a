"""Records and spans at the limits of a page: they open, and a page of them stays small."""

import json

import pytest

from segplane.gateway.console.logs.records import BAG_CHARACTERS_MAX, SHOWN_CHARACTERS_MAX
from segplane.gateway.console.logs.unfolded import (
    FILTERS_MAX,
    NODES_MAX,
    TreeNode,
    body_nodes,
    tree_of,
)
from tests.segplane.console.log_records import NOON, write_logs
from tests.segplane.console.test_logs import opened, path, rows
from tests.segplane.console.test_trace_pages import START, Elements, page
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.traces import TRACE, span_row, write_rows

SPAN = f"traces/{TRACE}/span?dataset=web&span=a"


def leaves(nodes: tuple[TreeNode, ...]) -> int:
    return sum(leaves(node.nodes) or 1 for node in nodes)


def test_the_first_values_of_a_record_are_filters() -> None:
    nodes = tree_of({"attributes": {f"k{n}": "v" for n in range(FILTERS_MAX + 1)}})

    filters = [node.filter is not None for node in nodes[0].nodes]
    assert filters == [True] * FILTERS_MAX + [False]


def test_a_value_that_no_address_has_is_no_filter() -> None:
    nodes = tree_of({"attributes": {"k": "\ud83d", "\ud83d": "v", "n": "\0"}})

    assert [node.filter for node in nodes[0].nodes] == [None] * 3


def test_json_that_is_nested_too_deep_is_text() -> None:
    for levels in (900, 990, 10_000):
        assert leaves(body_nodes("[" * levels + "]" * levels)) <= 1


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z"]
)
def test_a_record_of_no_time_of_ours_is_refused(console: GatewayServer, time: str) -> None:
    for route in ("record", "around"):
        refused = opened(
            console, path(("at", time), ("digest", "a" * 64), route=f"logs/{route}"), 400
        )
        assert "cut off or changed" in refused.text


def test_records_of_odd_json_open(console: GatewayServer, segments: SegmentWriter) -> None:
    deep = "[" * 970 + "]" * 970
    write_logs(
        segments,
        {"body": r'{"a":"\ud83d"}', "attributes": {"b": r'{"\udc00":1}'}},
        {"body": deep, "attributes": {"deep": deep}, "timestamp": NOON + 1},
        {"body": "x", "attributes": f'{{"deep":{deep}}}', "timestamp": NOON + 2},
    )

    deepest, *others = [row.attributes["href"].lstrip("/") for row in rows(opened(console, path()))]

    # Python parses it or refuses it by the depth of the stack; both end in a page that says so.
    answer = console.get(deepest)
    assert (answer.status in (200, 400), b"nested too deep" in answer.body) == (True, True)
    shown = [opened(console, address).text for address in others]
    assert len(shown) == 2
    assert "a U+D83D" in shown[1]


def test_long_attributes_of_a_record_are_shown_as_text(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    for length in (BAG_CHARACTERS_MAX - 8, BAG_CHARACTERS_MAX - 7):
        bag = {"k": "x" * length}
        write_logs(segments, {"body": f"{length}", "attributes": bag, "service_name": "s" * 9_000})

    texts = []
    for row in rows(opened(console, path())):
        record = opened(console, row.attributes["href"].lstrip("/"))
        texts.append(next(item.text for item in record.all("li") if "attributes" in item.text))

    assert {len(text) for text in texts} <= {SHOWN_CHARACTERS_MAX + n for n in range(100)}
    assert sorted('{"k":' in text for text in texts) == [False, True]


def test_a_span_is_a_page_of_few_elements(console: GatewayServer, segments: SegmentWriter) -> None:
    events = json.dumps([{"name": "e", "attributes": {f"k{n}": n for n in range(300)}}] * 50)
    bag = {f"k{n}": [n] for n in range(5_000)}
    span = span_row("a", start_nanos=START, attributes=bag, events=events)
    write_rows(segments, traces=[span] * 4)

    html = page(console, SPAN)

    assert html.count("<h2>") == 3
    assert Elements(html).names.count("li") <= NODES_MAX + 100
    assert "the first 2,000 values" in html


def test_a_span_of_odd_json_opens(console: GatewayServer, segments: SegmentWriter) -> None:
    events = '[{"name":"never","time_unix_nano":1e308},{"name":"late","time_unix_nano":"x"}]'
    deep = "[" * 970 + "]" * 970
    half = json.dumps(r'{"a":"\ud83d"}')
    span = span_row("a", start_nanos=START, events=events)
    write_rows(segments, traces=[{**span, "attributes": f'{{"deep":{deep},"half":{half}}}'}])

    html = page(console, SPAN)

    assert "never" in html
    assert "late" in html
    assert "U+D83D" in html
