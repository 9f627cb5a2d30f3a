"""Types of DuckDB that Arrow lacks or does not tell apart: JSON, and types that become texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segplane.query.quoting import quoted
from segplane.query.results.arrow_values import unique_names
from segplane.query.results.forms import form_of

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# DuckDB's Arrow of these has no zone, internal bytes, or another number beyond 127 bits.
_CASTS = {
    "BIT": "VARCHAR",
    "TIME WITH TIME ZONE": "VARCHAR",
    "VARIANT": "JSON",
    "BIGNUM": "VARCHAR",
    "UHUGEINT": "VARCHAR",
}
_NUMBERS = frozenset(["BIGNUM", "UHUGEINT"])
_Type = Any  # A DuckDBPyType.


def with_arrow_types(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return the same rows with values that Arrow has: others as texts, variants as JSON."""
    targets = [_target(type_) for type_ in relation.types]
    if targets == [str(type_) for type_ in relation.types]:
        return relation
    names = unique_names(relation.columns)
    columns = [
        f"#{index} AS {quoted(name)}"
        if target == str(type_)
        else f"CAST(#{index} AS {target}) AS {quoted(name)}"
        for index, (name, type_, target) in enumerate(
            zip(names, relation.types, targets, strict=True), 1
        )
    ]
    return relation.project(", ".join(columns))


def forms(relation: duckdb.DuckDBPyRelation, schema: pa.Schema) -> list[pa.DataType]:
    """Return the forms of a relation's columns, which Arrow has with a schema."""
    return [_form(type_, field.type) for type_, field in zip(relation.types, schema, strict=True)]


def _target(type_: _Type) -> str:
    match type_.id:
        case "list":
            return f"{_target(type_.children[0][1])}[]"
        case "array":
            (_, child), (_, size) = type_.children
            return f"{_target(child)}[{size}]"
        case "map":
            (_, key), (_, value) = type_.children
            return f"MAP({_target(key)}, {_target(value)})"
        case "struct":
            members = [(name, child, _target(child)) for name, child in type_.children]
            if all(target == str(child) for _, child, target in members):
                return str(type_)
            return f"STRUCT({', '.join(f'{quoted(n)} {target}' for n, _, target in members)})"
    return _CASTS.get(str(type_), str(type_))


def _form(type_: _Type, stored: Any) -> Any:
    import pyarrow as pa

    if str(type_) in ("JSON", "VARIANT"):
        return form_of(stored, "dynamic")
    if str(type_) in _NUMBERS:
        return pa.decimal256(76, 0)
    children = type_.children if type_.id in ("list", "array", "map", "struct") else []
    match type_.id:
        case "list":
            return pa.list_(_form(children[0][1], stored.value_type))
        case "array":
            return pa.list_(_form(children[0][1], stored.value_type), stored.list_size)
        case "map":
            key, value = (child for _, child in children)
            key_form, item_form = _form(key, stored.key_type), _form(value, stored.item_type)
            # The keys of an empty map may have a type that Arrow makes no map of.
            if (key_form, item_form) == (stored.key_type, stored.item_type):
                return stored
            return pa.map_(key_form, item_form)
        case "struct":
            return pa.struct(
                pa.field(name, _form(child, stored.field(index).type))
                for index, (name, child) in enumerate(children)
            )
    return stored
