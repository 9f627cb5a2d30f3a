"""Hints for texts that are not SQL, by what people write instead."""

import re
from functools import cache

from segments.signals import SIGNALS
from segplane.query.quoting import quoted
from segplane.query.sql.sql_parser import parser

_SLIPS = (
    (
        re.compile(r"\|\s*[a-z]+"),
        "Operators behind | are KQL, which begins with a table: web | take 5",
    ),
    (re.compile(r"\btop\s+\d", re.IGNORECASE), "Write LIMIT 5 at the end."),
    (re.compile(r"\b\d+(ms|[smhd])\b"), "Write INTERVAL 1 HOUR: 1h is KQL."),
    (re.compile(r"&&"), "Write AND."),
)
_TABLE = re.compile(
    rf"\b(?:from|join)\s+(?P<name>[\w/.-]+?)(?P<signal>\.(?:{'|'.join(SIGNALS)}))?(?=[\s),;]|$)",
    re.IGNORECASE,
)


def not_sql(message: str, text: str) -> str:
    """Return what is said of a text that is not SQL: a parser's message, and a hint."""
    slip = hint(text)
    return (
        f"this is not SQL: {message.rstrip('.')}. {slip}" if slip else f"this is not SQL: {message}"
    )


def hint(text: str) -> str:
    """Return a hint for a text that is not SQL, or ""."""
    for table in _TABLE.finditer(text):
        name, signal = table["name"], table["signal"] or ""
        if not re.fullmatch(r"[^\W\d]\w*", name) or name.lower() in _reserved():
            return f"The name {name} needs double quotes: write {quoted(name)}{signal}."
    return next((slip for pattern, slip in _SLIPS if pattern.search(text)), "")


@cache
def _reserved() -> frozenset[str]:
    """Return the words that are no names without quotes."""
    with parser().cursor() as connection:
        words = connection.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
        ).fetchall()
    return frozenset(word for (word,) in words)
