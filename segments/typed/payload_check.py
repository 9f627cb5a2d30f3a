"""Checks an OTLP payload against columns, without Arrow, for the collector.

Nearly every value is of a kind that its column takes as it is, which three bytes of the attribute
tell. Only what these leave open is parsed. Bytes that no library writes for an
attribute may be passed over: the nursery checks again, by the columns themselves.
"""

import base64
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from segments.parquet.columns.promoted_values import CERTAIN_TEXTS, JsonValue
from segments.parquet.spec import PromotedColumn
from segments.signals import Signal
from segments.typed.conformity import SchemaMisfits, misfit
from segments.v1.otlp_attributes_pb2 import LogAttributes, PointAttributes, SpanAttributes

# Tags of the members of AnyValue.
_TEXT, _BOOL, _INT, _DOUBLE, _BYTES = 0x0A, 0x10, 0x18, 0x21, 0x3A
# Kinds of values that fit a type whatever the value is.
_ALWAYS: dict[str, frozenset[int]] = {
    "string": frozenset((_TEXT, _BOOL, _INT, _DOUBLE, _BYTES)),
    "bool": frozenset((_BOOL,)),
    "int": frozenset(),
    "long": frozenset((_INT,)),
    "real": frozenset((_INT, _DOUBLE)),
    "datetime": frozenset((_INT,)),
    "timespan": frozenset((_INT,)),
    "guid": frozenset(),
}
_NO_NUMBERS = frozenset(("bool", "guid"))
# The largest length of one byte.
_SHORT_MAX = 0x7F
# A tag and four bytes with 28 bits of a number from 0 on.
_SMALL_NUMBER_BYTES_MAX = 5
# Reasons of one list of attributes, by column.
_Reasons = list[tuple[str, str]]


class PayloadCheck:
    """The check of a dataset's payloads; `columns` are those that it enforces."""

    def __init__(self, columns: Sequence[PromotedColumn]) -> None:
        self.columns = tuple(columns)

    def schema_violations(self, signal: Signal, payload: bytes) -> SchemaMisfits:
        """Find the records of a valid payload that violate the schema."""
        result, first = SchemaMisfits(), 0
        record_check = self._lists["record"]
        for resource, scope, records in _lists(signal, payload):
            shared = [*self._lists["resource"].reasons(resource)]
            shared += self._lists["scope"].reasons(scope)
            if shared or record_check.has_columns:
                for index, record in enumerate(records, first):
                    attributes = record.attributes
                    if shared or record_check.may_misfit(attributes):
                        reasons = shared + record_check.reasons(attributes)
                        if reasons:
                            result.add(index, reasons)
            first += len(records)
        return result

    @cached_property
    def _lists(self) -> "dict[str, _ListCheck]":
        return {
            scope: _ListCheck([column for column in self.columns if column.scope == scope])
            for scope in ("record", "resource", "scope")
        }


class _Rule(NamedTuple):
    """The rule for attributes of one name; the kinds that `always` fit are tags of AnyValue."""

    always: frozenset[int]
    takes_small_numbers: bool
    certain_text: "re.Pattern[bytes] | None"
    columns: Sequence[PromotedColumn]


class _ListCheck:
    """The check of one list of attributes."""

    def __init__(self, columns: Iterable[PromotedColumn]) -> None:
        by_key: dict[bytes, list[PromotedColumn]] = {}
        for column in columns:
            # Every value has a JSON text.
            if column.kql_type != "dynamic":
                by_key.setdefault(column.attribute.encode(), []).append(column)
        self._rules = {key: _rule(key_columns) for key, key_columns in by_key.items()}
        self.has_columns = bool(by_key)

    def may_misfit(self, attributes: Sequence[bytes]) -> bool:
        """Return whether a value may not fit; false for nearly all lists in which each fits."""
        rule_of, fits = self._rules.get, self._fits
        try:
            # Sliced, since that makes a list at once.
            for raw in attributes[:]:
                # Tag, length and text of the key; then tag and length of the value, and its kind.
                end = 2 + raw[1]
                rule = rule_of(raw[2:end])
                # A length of 128 and more takes a second byte.
                if (
                    rule is not None
                    and (raw[end + 2] not in rule[0] or raw[end + 1] > _SHORT_MAX)
                    and not fits(raw, end, rule)
                ):
                    return True
        except IndexError:
            return True
        return False

    def reasons(self, attributes: Iterable[bytes]) -> _Reasons:
        """Return which columns do not fit, exactly: of attributes of one name the first counts."""
        if not self.has_columns:
            return []
        reasons: _Reasons = []
        seen: set[str] = set()
        for raw in attributes:
            attribute = KeyValue.FromString(raw)
            rule = self._rules.get(attribute.key.encode())
            if rule is None or attribute.key in seen:
                continue
            seen.add(attribute.key)
            value = json_value(attribute.value)
            reasons += [
                (column.name, reason)
                for column in rule.columns
                if (reason := misfit(value, column.kql_type))
            ]
        return reasons

    def _fits(self, raw: bytes, end: int, rule: _Rule) -> bool:
        """Look at the value of an attribute whose kind alone does not tell."""
        kind, size_bytes = raw[end + 2], raw[end + 1]
        if kind == _INT and size_bytes <= _SMALL_NUMBER_BYTES_MAX and rule.takes_small_numbers:
            return True
        is_certain = rule.certain_text.fullmatch if rule.certain_text is not None else None
        # Up to the end of the attribute, so that nothing comes after the text.
        if kind == _TEXT and size_bytes <= _SHORT_MAX and is_certain and is_certain(raw, end + 4):
            return True
        value = json_value(KeyValue.FromString(raw).value)
        return not any(misfit(value, column.kql_type) for column in rule.columns)


def _rule(columns: Sequence[PromotedColumn]) -> _Rule:
    types = [column.kql_type for column in columns]
    return _Rule(
        frozenset.intersection(*map(_ALWAYS.__getitem__, types)),
        _NO_NUMBERS.isdisjoint(types),
        CERTAIN_TEXTS.get(types[0]) if len(types) == 1 else None,
        columns,
    )


def json_value(value: AnyValue) -> JsonValue:
    """Return the value as the column reads it from its JSON text."""
    kind = value.WhichOneof("value")
    if kind == "double_value":
        number = value.double_value
        if math.isfinite(number):
            return number
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    # The content of a list or an object makes no difference.
    if kind == "array_value":
        return []
    if kind == "kvlist_value":
        return {}
    plain: JsonValue = getattr(value, kind) if kind in _PLAIN else None
    return plain


_PLAIN = frozenset(("string_value", "bool_value", "int_value"))


def _lists(
    signal: Signal, payload: bytes
) -> Iterator[tuple[Sequence[bytes], Sequence[bytes], Sequence[Any]]]:
    """The attributes of each resource and scope, and the records below them, in order."""
    if signal == "metrics":
        yield from _point_lists(payload)
        return
    kind = LogAttributes if signal == "logs" else SpanAttributes
    for resource in kind.FromString(payload).resources:
        for scope in resource.scopes:
            yield resource.resource.attributes, scope.scope.attributes, scope.records


def _point_lists(
    payload: bytes,
) -> Iterator[tuple[Sequence[bytes], Sequence[bytes], Sequence[Any]]]:
    for resource in PointAttributes.FromString(payload).resources:
        for scope in resource.scopes:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                points = getattr(metric, kind).data_points if kind else ()
                yield resource.resource.attributes, scope.scope.attributes, points
