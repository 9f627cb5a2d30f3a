"""Tree of the spans of one trace by their parents, whatever the parents are.

Every span is in the tree exactly once. Spans whose parent is missing are below a node without a
span, one for each missing parent. Of spans with the same id, the first by time has the children. A
cycle of parents is cut before its first span by time.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from segplane.gateway.console.traces.spans import Span


@dataclass(slots=True, eq=False)
class Node:
    """A span in the tree; without a span it stands for a missing parent.

    `key` names it in addresses, also if several spans have its id.
    """

    key: str
    span: Span | None
    start_nanos: int
    end_nanos: int
    children: list["Node"] = field(default_factory=list)
    parent: "Node | None" = None
    depth: int = 0
    # Nodes below it.
    descendants: int = 0
    is_duplicate: bool = False
    is_cut_cycle: bool = False
    # Errors of its span and of those below it.
    errors: int = 0


def build_tree(spans: Iterable[Span]) -> list[Node]:
    """Return the roots, in order of their start, each with the nodes below it."""
    nodes = _nodes(sorted(spans, key=_order))
    by_id: dict[str, Node] = {}
    for node, span in nodes:
        if span.span_id:
            by_id.setdefault(span.span_id, node)
    roots: list[Node] = []
    missing: dict[str, Node] = {}
    for node, span in nodes:
        if not span.parent_span_id:
            roots.append(node)
            continue
        node.parent = by_id.get(span.parent_span_id) or missing.get(span.parent_span_id)
        if node.parent is None:
            node.parent = missing[span.parent_span_id] = _missing_parent(node)
            roots.append(node.parent)
    roots += _cut_cycles([node for node, _ in nodes])
    for node, _ in nodes:
        if node.parent is not None:
            node.parent.children.append(node)
    for node in missing.values():
        node.end_nanos = max(child.end_nanos for child in node.children)
    roots.sort(key=lambda node: (node.start_nanos, node.key))
    _measure(roots)
    return roots


def preorder(roots: Sequence[Node]) -> list[Node]:
    """Return all nodes in the order of a waterfall: each before its children."""
    ordered: list[Node] = []
    waiting = list(reversed(roots))
    while waiting:
        node = waiting.pop()
        ordered.append(node)
        waiting.extend(reversed(node.children))
    return ordered


def _order(span: Span) -> tuple[int, int, str, str, str]:
    return (span.start_nanos, -span.end_nanos, span.span_id, span.parent_span_id, span.name)


def _nodes(spans: Sequence[Span]) -> list[tuple[Node, Span]]:
    seen: Counter[str] = Counter()
    nodes = []
    for span in spans:
        repetition = seen[span.span_id]
        seen[span.span_id] += 1
        key = f"{span.span_id}~{repetition}" if repetition else span.span_id
        node = Node(key, span, span.start_nanos, span.end_nanos)
        node.is_duplicate = bool(repetition and span.span_id)
        nodes.append((node, span))
    return nodes


def _missing_parent(child: Node) -> Node:
    assert child.span is not None
    return Node(f"-{child.span.parent_span_id}", None, child.start_nanos, child.end_nanos)


def _cut_cycles(nodes: Sequence[Node]) -> list[Node]:
    """Make a root of the first node of each cycle; returns these roots."""
    positions = {node: position for position, node in enumerate(nodes)}
    walks: dict[Node, int] = {}
    cut = []
    for walk, start in enumerate(nodes, 1):
        node: Node | None = start
        while node is not None and node not in walks:
            walks[node] = walk
            node = node.parent
        if node is None or walks[node] != walk:
            continue
        cycle = [node]
        while cycle[-1].parent is not None and cycle[-1].parent is not node:
            cycle.append(cycle[-1].parent)
        first = min(cycle, key=positions.__getitem__)
        first.parent, first.is_cut_cycle = None, True
        cut.append(first)
    return cut


def _measure(roots: Sequence[Node]) -> None:
    """Set the depth of each node, and the number of nodes and errors in its subtree."""
    ordered = preorder(roots)
    for node in ordered:
        node.depth = node.parent.depth + 1 if node.parent else 0
    for node in reversed(ordered):
        node.errors += node.span is not None and node.span.is_error
        if node.parent:
            node.parent.descendants += node.descendants + 1
            node.parent.errors += node.errors
