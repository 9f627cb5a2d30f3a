"""The tree of a trace's spans, its timing, and the window of its waterfall."""

import time
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segplane.gateway.console.time_range import absolute_range
from segplane.gateway.console.traces.spans import Span
from segplane.gateway.console.traces.timing import clock_difference, critical_path, self_nanos
from segplane.gateway.console.traces.tree import Node, build_tree, preorder
from segplane.gateway.console.traces.waterfall import ROWS_MAX, TraceView, parse_view, waterfall
from segplane.gateway.http.refusals import QueryRefusal

MS = 10**6
EPOCH = 1_795_685_400 * 10**9
SPANS, DEPTH = 10_000, 200


def span(
    span_id: str,
    parent: str = "",
    start_ms: float = 0,
    length_ms: float | None = 10,
    kind: str = "INTERNAL",
    status: str = "UNSET",
    service: str = "shop",
) -> Span:
    length = None if length_ms is None else int(length_ms * MS)
    start = EPOCH + int(start_ms * MS)
    return Span(span_id, parent, service, f"op {span_id}", kind, status, "", start, length)


def nodes_of(*spans: Span) -> dict[str, Node]:
    return {node.key: node for node in preorder(build_tree(spans))}


IDS = st.sampled_from(["", "a", "b", "c", "d", "e", "f"])
SPANS_OF_ANY_PARENTS = st.lists(
    st.builds(span, IDS, IDS, st.integers(0, 20), st.one_of(st.none(), st.integers(-5, 20))),
    max_size=30,
)


@given(SPANS_OF_ANY_PARENTS)
def test_every_span_is_shown_once_whatever_the_parents(spans: list[Span]) -> None:
    ordered = preorder(build_tree(spans))

    placed = [node.span for node in ordered if node.span is not None]
    assert sorted(map(repr, placed)) == sorted(map(repr, spans))
    assert len({node.key for node in ordered}) == len(ordered)
    for node in ordered:
        assert node.depth == (node.parent.depth + 1 if node.parent else 0)
        starts = [child.start_nanos for child in node.children]
        assert starts == sorted(starts)
        assert 0 <= self_nanos(node) <= node.end_nanos - node.start_nanos


@given(SPANS_OF_ANY_PARENTS, st.lists(IDS, max_size=3))
def test_pages_of_a_waterfall_have_each_open_row_once(spans: list[Span], closed: list[str]) -> None:
    roots = build_tree(spans)

    page = waterfall(roots, TraceView(closed=tuple(closed)))

    shown = [row.node for row in page.rows]
    assert len(shown) == page.rows_total == len(set(shown))
    assert page.spans == len(spans)
    for row in page.rows:
        assert 0 <= row.x < row.x + row.width <= 1_000
        ancestor = row.node.parent
        while ancestor is not None:
            assert ancestor.key not in closed
            ancestor = ancestor.parent


@given(SPANS_OF_ANY_PARENTS)
def test_critical_spans_of_one_parent_do_not_overlap(spans: list[Span]) -> None:
    roots = build_tree(spans)
    critical = critical_path(roots)

    assert bool(critical) == bool(spans)
    for children in [roots, *(node.children for node in preorder(roots))]:
        ordered = sorted(
            (child for child in children if child.key in critical),
            key=lambda node: (node.start_nanos, node.end_nanos),
        )
        for before, after in pairwise(ordered):
            assert before.end_nanos <= after.start_nanos


def test_spans_whose_parent_is_missing_are_under_a_marked_row() -> None:
    nodes = nodes_of(span("a"), span("b", "lost", 2, 3), span("c", "lost", 4, 5))

    assert nodes["-lost"].span is None
    assert [child.key for child in nodes["-lost"].children] == ["b", "c"]
    assert (nodes["-lost"].start_nanos, nodes["-lost"].end_nanos) == (
        EPOCH + 2 * MS,
        EPOCH + 9 * MS,
    )


def test_a_cycle_is_cut_before_its_first_span() -> None:
    nodes = nodes_of(span("a", "c", 1), span("b", "a", 2), span("c", "b", 3), span("d", "c", 4))

    assert [node.depth for node in nodes.values()] == [0, 1, 2, 3]
    assert [key for key, node in nodes.items() if node.is_cut_cycle] == ["a"]


def test_of_spans_with_one_id_the_first_has_the_children() -> None:
    nodes = nodes_of(span("a"), span("a", "", 5), span("b", "a", 6))

    assert nodes["b"].parent is nodes["a"]
    assert nodes["a~1"].is_duplicate


def test_the_critical_path_follows_the_child_that_ends_last() -> None:
    nodes = build_tree(
        [
            span("root", length_ms=100),
            span("short", "root", 10, 20),
            span("long", "root", 10, 50),
            span("last", "root", 60, 30),
            span("within", "last", 70, 5),
            span("after", "root", 200, 10),
        ]
    )

    assert critical_path(nodes) == {"root", "long", "last", "within"}


def test_self_time_is_the_time_without_children() -> None:
    nodes = nodes_of(span("a", length_ms=100), span("b", "a", 10, 30), span("c", "a", 20, 30))

    assert self_nanos(nodes["a"]) == 60 * MS
    assert self_nanos(nodes["b"]) == 30 * MS


@pytest.mark.parametrize(
    ("child", "words"),
    [
        (span("b", "a", -5, 8), "begins 5 ms before its parent"),
        (span("b", "a", -0.5, 8), ""),
        (span("b", "a", 5, 9, "SERVER"), "ends 4 ms after the call"),
        (span("b", "a", 5, 30, "SERVER"), ""),
        (span("b", "a", 5, 9, "CONSUMER"), ""),
    ],
    ids=["early", "rounded", "late and short", "after a timeout", "asynchronous"],
)
def test_clocks_that_disagree_are_named(child: Span, words: str) -> None:
    nodes = nodes_of(span("a", kind="CLIENT"), child)

    difference = clock_difference(nodes["b"])

    assert words in difference
    assert bool(words) == bool(difference)


def test_a_zoom_hides_spans_outside_of_it_but_not_their_ancestors() -> None:
    roots = build_tree([span("a", length_ms=2), span("b", "a", 1, 1), span("c", "a", 50, 10)])
    zoom = absolute_range(EPOCH + 55 * MS, EPOCH + 65 * MS)

    page = waterfall(roots, TraceView(zoom=zoom))

    assert [row.node.key for row in page.rows] == ["a", "c"]
    assert (page.rows[1].x, page.rows[1].width) == (0, 500)


def test_a_view_is_refused_beyond_its_limits() -> None:
    assert parse_view({}, ["x"] * 100).first == 0
    for parameters, closed in (({}, ["x"] * 101), ({"first": "-1"}, []), ({"first": "x"}, [])):
        with pytest.raises(QueryRefusal):
            parse_view(parameters, closed)


def test_a_trace_of_ten_thousand_spans_takes_little_more_than_ten_of_a_thousand() -> None:
    spans = [span("0", length_ms=10**6)]
    for number in range(1, SPANS):
        parent = number - 1 if number % DEPTH else 0
        spans.append(span(str(number), str(parent), number, SPANS - number))

    def laid_out(count: int) -> float:
        before = time.process_time()
        roots = build_tree(spans[:count])
        page = waterfall(roots, TraceView(first=count // 2))
        seconds = time.process_time() - before
        assert (page.spans, page.rows_total, len(page.rows)) == (count, count, ROWS_MAX)
        assert max(node.depth for node in preorder(roots)) == DEPTH
        return seconds

    # Of a quadratic layout it would be a hundred times.
    assert laid_out(SPANS) < 40 * min(laid_out(SPANS // 10) for _ in range(5))


def test_events_are_marked_where_they_are_within_the_shown_time() -> None:
    spans = [
        replace(span("a", length_ms=100), event_nanos=(EPOCH, EPOCH + 50 * MS, EPOCH + 100 * MS)),
        replace(span("b", "a", 10), event_nanos=(EPOCH - 1, EPOCH + 101 * MS)),
        span("c", "a", 20),
    ]

    rows = waterfall(build_tree(spans), TraceView()).rows
    zoom = absolute_range(EPOCH + 50 * MS, EPOCH + 60 * MS)
    zoomed = waterfall(build_tree(spans), TraceView(zoom=zoom)).rows

    mark = "h2v10h-2z"
    assert [row.marks for row in rows] == [f"M0 0{mark}M500 0{mark}M998 0{mark}", "", ""]
    assert zoomed[0].marks == f"M0 0{mark}"
