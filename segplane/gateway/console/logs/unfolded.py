"""A record as a tree: every field with a value, JSON within texts unfolded, within limits."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segplane.gateway.console.kql_text import NOT_IN_TEXTS
from segplane.gateway.console.logs.fields import BAGS, FieldValue, LogField
from segplane.gateway.console.logs.records import SHOWN_CHARACTERS_MAX
from segplane.gateway.http.refusals import QueryRefusal

NODES_MAX = 2_000
# Each link has the whole address of the page in it.
FILTERS_MAX = 200
LEVELS_MAX = 16
_LINKED_CHARACTERS_MAX = 500
_LONG_MAX = 2**63 - 1
# The body is shown beside the tree, and the signal is that of all.
_HIDDEN = frozenset(["body", "signal"])


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A name with a value as text, or with nodes below it.

    `filter` is the value as a condition, where it can be one. `is_unfolded` says that the nodes are
    of JSON within a text.
    """

    name: str
    text: str = ""
    nodes: tuple["TreeNode", ...] = ()
    filter: FieldValue | None = None
    is_unfolded: bool = False
    is_cut_off: bool = False


class _Digits(str):
    """A number with the digits that it was sent with."""

    __slots__ = ()


def parse_record(content: bytes) -> dict[str, Any] | None:
    """Return the first row of a result, None if there is none. Raises QueryRefusal.

    Numbers are their digits, times have nanoseconds, and bags that are not cut are objects.
    """
    try:
        rows = parse_json(content)
    except RecursionError:
        raise QueryRefusal("the record is nested too deep for a page: use a query") from None
    if not rows:
        return None
    record = _with_nanos(rows[0])
    return record | {name: _bag(record[name]) for name in BAGS if name in record}


def _bag(value: Any) -> Any:
    """Return attributes by key; a text that is cut off, or nested too deep, as it is."""
    try:
        bag = parse_json(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
    return bag if isinstance(bag, dict) else value


def tree_of(record: Mapping[str, Any]) -> tuple[TreeNode, ...]:
    """Return the fields of a record that have a value."""
    unfolding = Unfolding()
    return tuple(
        node
        for name, value in record.items()
        if name not in _HIDDEN and value not in (None, "", {}, [])
        for node in unfolding.nodes(name, value, LogField(name), 0)
    )


def body_nodes(body: str) -> tuple[TreeNode, ...]:
    """Return the nodes of a body that is JSON; none of any other."""
    inner = _json_of(body)
    return () if inner is None else Unfolding().members(inner, None, 0)


def parse_json(text: str | bytes) -> Any:
    """Return a value of JSON, its numbers as digits. Raises ValueError, RecursionError."""
    return json.loads(text, parse_int=_Digits, parse_float=_Digits)


def _with_nanos(record: dict[str, Any]) -> dict[str, Any]:
    remainders = {f"{name}_nanos": name for name in record if f"{name}_nanos" in record}
    times = {
        time: f"{str(record[time]).removesuffix('Z')}{int(record[name] or 0):03d}Z"
        for name, time in remainders.items()
        if record[time] is not None
    }
    return {name: value for name, value in (record | times).items() if name not in remainders}


class Unfolding:
    """Makes nodes, as many as a page may have; `is_cut_off` says that there were more."""

    def __init__(self) -> None:
        self._remaining = NODES_MAX
        self._filters_remaining = FILTERS_MAX
        self.is_cut_off = False

    def nodes(
        self, name: str, value: Any, field: LogField | None, level: int
    ) -> Iterator[TreeNode]:
        """Yield the node of a value, none once there are too many."""
        if self._remaining <= 0:
            self.is_cut_off = True
            return
        self._remaining -= 1
        inner = value if isinstance(value, dict | list) else _json_of(value)
        if inner is not None and level < LEVELS_MAX:
            is_unfolded = inner is not value
            members = self.members(inner, None if is_unfolded else field, level + 1)
            filter_ = self._filter(field, value) if is_unfolded else None
            is_cut_off = len(members) < len(inner)
            yield TreeNode(name, "", members, filter_, is_unfolded, is_cut_off)
            return
        text = _text_of(value)
        is_cut_off = len(text) > SHOWN_CHARACTERS_MAX
        filter_ = self._filter(field, value)
        yield TreeNode(name, text[:SHOWN_CHARACTERS_MAX], (), filter_, is_cut_off=is_cut_off)

    def members(
        self, value: Mapping[str, Any] | Sequence[Any], field: LogField | None, level: int
    ) -> tuple[TreeNode, ...]:
        """Return the nodes of the members of an object or a list."""
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        is_bag = field is not None and not field.key and field.column in BAGS
        return tuple(
            node
            for name, item in items
            for node in self.nodes(
                str(name),
                item,
                LogField(field.column, str(name)) if is_bag and field and name else None,
                level,
            )
        )

    def _filter(self, field: LogField | None, value: Any) -> FieldValue | None:
        filter_ = _filter(field, value) if self._filters_remaining else None
        self._filters_remaining -= filter_ is not None
        return filter_


def _filter(field: LogField | None, value: Any) -> FieldValue | None:
    """Return a value as a condition on its field, None if it is none of an address."""
    if field is None or not field.is_comparable() or isinstance(value, dict | list):
        return None
    if isinstance(value, _Digits):
        try:
            number = int(value)
        except ValueError:
            real = float(value)
            return FieldValue(field, real) if math.isfinite(real) else None
        return FieldValue(field, number) if abs(number) <= _LONG_MAX else None
    if isinstance(value, str) and (
        len(value) > _LINKED_CHARACTERS_MAX or NOT_IN_TEXTS.search(value)
    ):
        return None
    return FieldValue(field, value)


def _json_of(value: Any) -> dict[str, Any] | list[Any] | None:
    """Return an object or a list that a text holds as JSON, None of any other value."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return None
    try:
        inner = parse_json(value)
    except (ValueError, RecursionError):
        return None
    return inner if isinstance(inner, dict | list) and inner else None


def _text_of(value: Any) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "nested too deep to be shown"
