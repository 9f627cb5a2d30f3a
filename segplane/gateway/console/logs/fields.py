"""Fields of a record, as an address names them, and conditions that compare one with a value."""

import json
import math
import re
from dataclasses import dataclass

from kql.dataset_table import FORMAT_COLUMNS, WORDS
from segplane.gateway.console.kql_text import NOT_IN_TEXTS, quoted_name, text_literal
from segplane.gateway.http.refusals import QueryRefusal

BAGS = ("attributes", "resource_attributes", "scope_attributes")
_NAME_CHARACTERS_MAX = 255
# KQL has no keys with these characters.
_NOT_IN_KEYS = re.compile(rf"[\"'\[\]\\*?]|{NOT_IN_TEXTS.pattern}")
_COMPARABLE = ("string", "bool", "int", "long", "real")
Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class LogField:
    """A column, or with a key one attribute of a record, its resource or its scope."""

    column: str
    key: str = ""

    def text(self) -> str:
        """Return it as an address has it, such as `attributes.http.route`."""
        return f"{self.column}.{self.key}" if self.key else self.column

    def kql(self) -> str:
        """Return it as an expression of KQL."""
        column = quoted_name(self.column)
        return f"{column}[{text_literal(self.key)}]" if self.key else column

    def is_comparable(self) -> bool:
        """True if KQL can compare it with a value of its own type."""
        if self.key:
            return not _NOT_IN_KEYS.search(self.key)
        is_word = self.column in WORDS
        return is_word or FORMAT_COLUMNS.get(self.column, "string") in _COMPARABLE


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A field and a value of it; None is the absence of one."""

    field: LogField
    value: Scalar

    def text(self) -> str:
        """Return it as an address has it: a list of JSON."""
        return json.dumps([self.field.text(), self.value], ensure_ascii=False)

    def shown_value(self) -> str:
        """Return the value for people."""
        return self.value if isinstance(self.value, str) else json.dumps(self.value)

    def kql(self) -> str:
        """Return the condition that the field has the value."""
        expression = self.field.kql()
        if self.value is None:
            return f"isempty(tostring({expression}))"
        if not isinstance(self.value, str):
            return f"{expression} == {json.dumps(self.value)}"
        column = self.field.column
        # The type of a promoted column is not known here.
        if not self.field.key and column not in WORDS and FORMAT_COLUMNS.get(column) != "string":
            expression = f"tostring({expression})"
        return f"{expression} == {text_literal(self.value)}"


def parse_field(text: str) -> LogField:
    """Parse a field of an address. Raises QueryRefusal."""
    if not 0 < len(text) <= _NAME_CHARACTERS_MAX:
        raise QueryRefusal(f"a column has {len(text)} characters, expected 1 to 255")
    for bag in BAGS:
        if text.startswith(f"{bag}.") and (key := text.removeprefix(f"{bag}.")):
            return LogField(bag, key)
    return LogField(text)


def parse_field_value(text: str) -> FieldValue:
    """Parse a field and its value. Raises QueryRefusal."""
    try:
        content = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        content = None
    match content:
        case [_, float(number)] if not math.isfinite(number):
            pass
        case [str(name), str() | int() | float() | bool() | None as value] if (
            not NOT_IN_TEXTS.search(f"{name}{value}")
        ):
            return FieldValue(parse_field(name), value)
    raise QueryRefusal(f'a filter is {text[:80]!r}, expected a list such as ["service_name","web"]')


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")
