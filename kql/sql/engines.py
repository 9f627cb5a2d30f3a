"""The engines: their dialects of SQL, patterns, names of types, and how each writes constants."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from kql import regex
from kql.sql import (
    array_patterns,
    duckdb,
    metric_patterns,
    series_patterns,
    spark,
    trino,
    value_patterns,
)
from kql.sql.common import COMMON, WINDOWS
from kql.sql.parameters import with_unique_parameters
from kql.types import KqlType

EngineName = Literal["duckdb", "spark", "trino"]
_REFERENCE = re.compile(r"\\(\\|[0-9])")


@dataclass(frozen=True, slots=True)
class Engine:
    """One SQL dialect; `types` are its names for the nine types."""

    name: EngineName
    patterns: Mapping[str, str]
    types: Mapping[KqlType, str]
    regex: Callable[[str], str]
    rewrite: Callable[[str], str]
    time: Callable[[int], str]
    path: Callable[[tuple[str | int, ...]], str]
    has_prefilters: bool = False


def _types(text: str = "VARCHAR", time: str = "TIMESTAMPTZ") -> dict[KqlType, str]:
    return {
        "bool": "BOOLEAN", "int": "INT", "long": "BIGINT", "real": "DOUBLE", "datetime": time,
        "timespan": "BIGINT", "string": text, "guid": text, "dynamic": text,
    }  # fmt: skip


def _of_trino(patterns: Mapping[str, str]) -> dict[str, str]:
    """Return patterns with Trino's names of functions and types."""

    def written(text: str) -> str:
        for word, word_of_trino in trino.WORDS.items():
            text = text.replace(word, word_of_trino)
        return text

    return {name: written(text) for name, text in patterns.items()}


def _reals(patterns: Mapping[str, str]) -> dict[str, str]:
    """Return the patterns of lists of reals, which these engines write as valid JSON anyway."""
    return {f"{name}_real": patterns[name] for name in ("make_series", "make_list", "make_set")}


def _clock(micros: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    return f"{moment.year:04}-{moment:%m-%d %H:%M:%S.%f}"


def _java_rewrite(text: str) -> str:
    r"""Return a rewrite with `$1` for `\1`, and with what Java takes as a sign escaped."""
    pieces = re.split(r"(\\\\|\\[0-9])", text)
    return "".join(
        "\\\\" if p == "\\\\" else f"${p[1]}" if _REFERENCE.fullmatch(p)
        else p.replace("\\", "\\\\").replace("$", "\\$")
        for p in pieces
    )  # fmt: skip


def _dotted_path(keys: tuple[str | int, ...]) -> str:
    return "$" + "".join(f"[{key}]" if isinstance(key, int) else f'."{key}"' for key in keys)


def _bracket_path(quote: str) -> Callable[[tuple[str | int, ...]], str]:
    def path(keys: tuple[str | int, ...]) -> str:
        steps = (f"[{k}]" if isinstance(k, int) else f"[{quote}{k}{quote}]" for k in keys)
        return "$" + "".join(steps)

    return path


_MODULES = (metric_patterns, value_patterns, array_patterns, series_patterns)
_SHARED = {**COMMON, **WINDOWS}
_DUCKDB = {n: p for module in _MODULES for n, p in module.DUCKDB.items()} | duckdb.PATTERNS
_SPARK = {n: p for module in _MODULES for n, p in module.SPARK.items()} | spark.PATTERNS
_TRINO = value_patterns.TRINO | {name: _DUCKDB[name] for name in trino.LIKE_DUCKDB}
ENGINES: dict[EngineName, Engine] = {
    "duckdb": Engine(
        "duckdb",
        {name: with_unique_parameters(text) for name, text in (_SHARED | _DUCKDB).items()},
        _types(),
        regex.to_re2,
        str,
        lambda micros: f"TIMESTAMPTZ '{_clock(micros)}+00'",
        _dotted_path,
        has_prefilters=True,
    ),
    "spark": Engine(
        "spark",
        {n: p.replace("VARCHAR", "STRING") for n, p in _SHARED.items()}
        | _SPARK
        | _reals(spark.PATTERNS),
        _types("STRING", "TIMESTAMP"),
        regex.to_java,
        _java_rewrite,
        lambda micros: f"TIMESTAMP '{_clock(micros)}Z'",
        _bracket_path("'"),
    ),
    "trino": Engine(
        "trino",
        _of_trino(_SHARED | _TRINO) | trino.PATTERNS | _reals(trino.PATTERNS),
        _types(time="TIMESTAMP(6) WITH TIME ZONE"),
        regex.to_trino,
        _java_rewrite,
        lambda micros: f"TIMESTAMP '{_clock(micros)} UTC'",
        _bracket_path('"'),
    ),
}
