"""Timing of the nodes of a trace: critical path, self time, clocks that disagree."""

from collections.abc import Iterable, Sequence

from segplane.gateway.console.traces.tree import Node

# Some SDKs round times to milliseconds.
_ROUNDING_NANOS = 10**6


def critical_path(roots: Sequence[Node]) -> frozenset[str]:
    """Return the keys of the nodes whose time the duration of the trace consists of.

    From the end of a node backwards, each child that ends last before the one after it begins.
    A child that ends after its parent counts until its parent's end.
    """
    if not roots:
        return frozenset()
    critical: set[str] = set()
    start = min(node.start_nanos for node in roots)
    waiting = [(list(roots), start, max(node.end_nanos for node in roots))]
    while waiting:
        children, start, moment = waiting.pop()
        is_last = True
        for child in sorted(children, key=lambda node: node.end_nanos, reverse=True):
            end = min(child.end_nanos, moment) if is_last else child.end_nanos
            child_start = max(child.start_nanos, start)
            if not child_start <= end <= moment:
                continue
            critical.add(child.key)
            waiting.append((child.children, child_start, end))
            moment, is_last = child_start, False
    return frozenset(critical)


def self_nanos(node: Node) -> int:
    """Return the time of a node during which none of its children ran."""
    covered, moment = 0, node.start_nanos
    for child in sorted(node.children, key=lambda child: child.start_nanos):
        start, end = max(child.start_nanos, moment), min(child.end_nanos, node.end_nanos)
        if end > start:
            covered += end - start
            moment = end
    return node.end_nanos - node.start_nanos - covered


def clock_difference(node: Node) -> str:
    """Return a sentence if the clocks of a span and its parent disagree, else "".

    A child cannot begin before its parent. The server's span of a call can end after the client's
    only if it takes longer, as after a timeout.
    """
    parent = node.parent
    if node.span is None or parent is None or parent.span is None:
        return ""
    early_nanos = parent.start_nanos - node.start_nanos
    if early_nanos > _ROUNDING_NANOS:
        return f"begins {duration_text(early_nanos)} before its parent: their clocks disagree"
    late_nanos = node.end_nanos - parent.end_nanos
    is_call = (parent.span.kind, node.span.kind) == ("CLIENT", "SERVER")
    fits = node.end_nanos - node.start_nanos <= parent.end_nanos - parent.start_nanos
    if is_call and fits and late_nanos > _ROUNDING_NANOS:
        return (
            f"ends {duration_text(late_nanos)} after the call it belongs to, though it is"
            " shorter: their clocks disagree"
        )
    return ""


def services(nodes: Iterable[Node]) -> list[tuple[str, int]]:
    """Return each service and the number of its spans, the most frequent first."""
    counts: dict[str, int] = {}
    for node in nodes:
        if node.span is not None:
            counts[node.span.service] = counts.get(node.span.service, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def duration_text(nanos: int) -> str:
    """Return a length of time in the largest unit of which it has one."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if abs(nanos) >= size:
            return f"{nanos / size:,.3f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{nanos} ns"
