"""Waterfall of a trace: the window of its rows that a page shows, and the place of each bar."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from segplane.gateway.console.time_range import TimeRange, absolute_range, parse_range
from segplane.gateway.console.traces import timing
from segplane.gateway.console.traces.spans import Span
from segplane.gateway.console.traces.tree import Node, preorder
from segplane.gateway.http.refusals import QueryRefusal

# A row has at most 13 elements, and a page at most 1,500.
ROWS_MAX = 100
# Closed subtrees are in the address.
CLOSED_MAX = 100
# The width of all bars, in the units of their SVG.
WIDTH = 1_000
_BAR_WIDTH_MIN = 2


@dataclass(frozen=True, slots=True)
class TraceView:
    """The part of a trace that an address asks for; no zoom is all of its time."""

    first: int = 0
    closed: tuple[str, ...] = ()
    zoom: TimeRange | None = None


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    """One row: a node, its bar, and notes about it."""

    node: Node
    x: int
    width: int
    # The path of the marks of its events, "" without any.
    marks: str
    is_critical: bool
    is_closed: bool
    duration: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The rows of a page out of `rows_total`, and the facts of the whole trace."""

    rows: tuple[WaterfallRow, ...]
    rows_total: int
    first: int
    shown: TimeRange
    whole: TimeRange
    spans: int
    errors: int
    missing_parents: int
    clock_differences: int
    services: tuple[tuple[str, int], ...]

    @property
    def duration(self) -> str:
        """Return the duration of the trace."""
        return timing.duration_text(self.whole.end.nanos - self.whole.start.nanos)


def parse_view(parameters: Mapping[str, str], closed: Sequence[str]) -> TraceView:
    """Parse the parameters of an address. Raises QueryRefusal."""
    first = parameters.get("first") or "0"
    if not (first.isascii() and first.isdigit() and len(first) < 10):
        raise QueryRefusal(f"first is {first[:80]!r}, expected the number of a row")
    if len(closed) > CLOSED_MAX:
        raise QueryRefusal(f"{len(closed):,} subtrees are closed, at most {CLOSED_MAX} can be")
    zoom = {"from": parameters.get("zoom_from", ""), "to": parameters.get("zoom_to", "")}
    has_zoom = all(zoom.values())
    return TraceView(int(first), tuple(closed), parse_range(zoom, 0) if has_zoom else None)


def waterfall(roots: Sequence[Node], view: TraceView) -> Waterfall:
    """Lay out the rows of a page; a trace without spans has none."""
    nodes = preorder(roots)
    whole = absolute_range(
        min((node.start_nanos for node in nodes), default=0),
        max((node.end_nanos for node in nodes), default=0),
    )
    shown = view.zoom or whole
    closed = frozenset(view.closed)
    visible = _visible(nodes, closed, view.zoom)
    critical = timing.critical_path(roots)
    first = min(view.first, max(0, len(visible) - 1)) // ROWS_MAX * ROWS_MAX
    rows = tuple(
        _row(node, shown, node.key in critical, node.key in closed)
        for node in visible[first : first + ROWS_MAX]
    )
    return Waterfall(
        rows,
        len(visible),
        first,
        shown,
        whole,
        sum(node.span is not None for node in nodes),
        sum(node.errors for node in roots),
        sum(node.span is None for node in nodes),
        sum(bool(timing.clock_difference(node)) for node in nodes),
        tuple(timing.services(nodes)),
    )


def _visible(nodes: Sequence[Node], closed: frozenset[str], zoom: TimeRange | None) -> list[Node]:
    """Return the nodes that are in no closed subtree, and run during the zoom or above one."""
    overlapping = set(nodes)
    if zoom is not None:
        overlapping = {node for node in nodes if _runs_during(node, zoom)}
        for node in reversed(nodes):
            if node in overlapping and node.parent is not None:
                overlapping.add(node.parent)
    hidden: set[Node] = set()
    visible = []
    for node in nodes:
        if node.parent is not None and (node.parent in hidden or node.parent.key in closed):
            hidden.add(node)
        elif node in overlapping:
            visible.append(node)
    return visible


def _runs_during(node: Node, zoom: TimeRange) -> bool:
    return node.start_nanos < zoom.end.nanos and node.end_nanos >= zoom.start.nanos


def _row(node: Node, shown: TimeRange, is_critical: bool, is_closed: bool) -> WaterfallRow:
    start, length = shown.start.nanos, shown.end.nanos - shown.start.nanos
    left_edge = min(max(node.start_nanos - start, 0), length) * WIDTH // length
    right_edge = min(max(node.end_nanos - start, 0), length) * WIDTH // length
    left_edge = min(left_edge, WIDTH - _BAR_WIDTH_MIN)
    width = max(right_edge - left_edge, _BAR_WIDTH_MIN)
    is_unfinished = node.span is not None and node.span.duration_nanos is None
    duration = timing.duration_text(node.end_nanos - node.start_nanos)
    return WaterfallRow(
        node,
        left_edge,
        width,
        _marks(node, start, length),
        is_critical,
        is_closed,
        "no end" if is_unfinished else duration,
        tuple(_notes(node, is_critical)),
    )


def _marks(node: Node, start: int, length: int) -> str:
    """Return the path of a mark for each of the first events within the shown time."""
    offsets = (nanos - start for nanos in (node.span.event_nanos if node.span else ()))
    places = {offset * WIDTH // length for offset in offsets if 0 <= offset <= length}
    edges = (min(edge, WIDTH - _BAR_WIDTH_MIN) for edge in sorted(places))
    return "".join(f"M{edge} 0h{_BAR_WIDTH_MIN}v10h-{_BAR_WIDTH_MIN}z" for edge in edges)


def _notes(node: Node, is_critical: bool) -> Iterator[str]:
    span = node.span
    if span is None:
        yield f"{_counted(node.descendants, 'span')} below a span that is missing"
        return
    if span.is_error:
        yield f"error: {span.status_message[:200]}" if span.status_message else "error"
    if is_critical:
        yield "critical path"
    if node.children:
        yield f"self {timing.duration_text(timing.self_nanos(node))}"
    for count, noun in ((span.event_count, "event"), (span.link_count, "link")):
        if count:
            yield _counted(count, noun)
    yield from _anomalies(node, span)


def _anomalies(node: Node, span: Span) -> Iterator[str]:
    if span.duration_nanos is not None and span.duration_nanos < 0:
        yield "ends before it begins"
    if difference := timing.clock_difference(node):
        yield difference
    if node.is_duplicate:
        yield "another span has its id"
    if node.is_cut_cycle:
        yield "its parents are a cycle, which is cut here"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' if count != 1 else ''}"
