"""The columns of a file beside the format's, as its footer has them."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from segments.parquet.spec import PromotedColumn


def field_ids(columns: Iterable[PromotedColumn]) -> tuple[int, ...]:
    """Return the numbers of promoted columns, ascending; automatic ones are none of them."""
    ids = (c.fact_id for c in columns if not c.is_automatic)
    return tuple(sorted(field_id for field_id in ids if field_id is not None))


def encode(columns: Sequence[PromotedColumn], unusable: Collection[str]) -> dict[str, object]:
    """Return the entries of a footer for some columns.

    Automatic columns are among the promoted ones: readers of earlier releases accept them so. Their
    further entry says of each whether it may be read in place of its attribute.
    """
    entries: dict[str, object] = {"promoted": [_entry(column) for column in columns]}
    bound = [column.name for column in columns if column.is_bound]
    automatic = {c.name: c.name not in unusable for c in columns if c.is_automatic}
    if bound:
        entries["bound"] = bound
    if automatic:
        entries["automatic"] = automatic
    return entries


def decode(
    texts: Mapping[str, bytes],
) -> tuple[tuple[PromotedColumn, ...], frozenset[str]]:
    """Return the columns of a footer, and the names of unusable automatic ones.

    Raises KeyError, ValueError, TypeError.
    """
    bound = frozenset(map(str, json.loads(texts.get("bound", b"[]"))))
    marks = dict(json.loads(texts.get("automatic", b"{}")))
    automatic = {str(name): is_usable is True for name, is_usable in marks.items()}
    columns = tuple(_column(entry, bound, automatic) for entry in json.loads(texts["promoted"]))
    return columns, frozenset(name for name, is_usable in automatic.items() if not is_usable)


def _entry(column: PromotedColumn) -> list[str | int]:
    entry: list[str | int] = list(column.definition)
    numbers = (number for number in (column.field_id, column.name_id) if number is not None)
    return [*entry, *numbers]


def _column(
    entry: list[object], bound: Collection[str], automatic: Collection[str]
) -> PromotedColumn:
    name, kql_type, scope, attribute, *numbers = entry
    field_id, name_id = [*map(_whole, numbers), None, None][:2]
    return PromotedColumn(
        str(name),
        str(kql_type),
        str(scope),
        str(attribute),
        field_id,
        is_bound=name in bound,
        is_automatic=name in automatic,
        name_id=name_id,
    )


def _whole(number: object) -> int:
    if not isinstance(number, int):
        raise TypeError(f"{number!r} is not a whole number")
    return number
