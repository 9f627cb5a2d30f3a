"""Selectors of series in expressions of PromQL, of the metrics that processes of ours export."""

import re

_PREFIXES = "segplane_|segplane:|grpc_|http_server_|process_|python_"
_SELECTOR = re.compile(rf'(?<![\w:"])((?:{_PREFIXES})[\w:]+|up)(\{{[^}}]*\}})?(?![\w(:])')
# Names of labels, which look like metrics.
_LABELS = re.compile(r"\b(by|on|without|ignoring) ?\([^)]*\)")


def selectors(expression: str) -> list[str]:
    """Return the selectors of an expression, each without its range and offset."""
    return [f"{name}{matchers or ''}" for name, matchers in _matches(expression)]


def metric_names(expression: str) -> set[str]:
    """Return the names of the metrics that an expression selects."""
    return {name for name, _ in _matches(expression)}


def _matches(expression: str) -> list[tuple[str, str]]:
    return _SELECTOR.findall(_LABELS.sub("", expression))
