"""Compares rows of a door with those that an input expects."""

import json
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

TIMES = {"timestamp", "observed_timestamp", "end_timestamp", "start_timestamp"}
_WORDS = {math.inf: "Infinity", -math.inf: "-Infinity"}


def differences(expected: Sequence[dict[str, Any]], actual: Sequence[dict[str, Any]]) -> list[str]:
    """Match each expected row with another actual one; says what is missing and what is left."""
    remaining, missing = list(actual), []
    for row in expected:
        matching = next((other for other in remaining if _has(other, row)), None)
        if matching is None:
            missing.append(row)
        else:
            remaining.remove(matching)
    if not missing and not remaining:
        return []
    names = sorted({name for row in expected for name in row} or {"timestamp", "signal", "body"})
    lines = [f"expected {json.dumps(row, sort_keys=True)}" for row in missing]
    return lines + [
        f"found    {json.dumps({n: value_of(row, n) for n in names}, default=str)}"
        for row in remaining
    ]


def value_of(row: dict[str, Any], name: str) -> Any:
    """The value of a column; a time in nanoseconds."""
    value = row.get(name)
    if name not in TIMES or value is None:
        return _plain(value)
    return nanos(value) + (row.get(f"{name}_nanos") or 0)


def nanos(value: Any) -> int:
    """A time in nanoseconds, of a datetime or of its ISO form."""
    time = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return (time - datetime.fromtimestamp(0, time.tzinfo)) // timedelta(microseconds=1) * 1_000


def _has(row: dict[str, Any], expected: dict[str, Any]) -> bool:
    return all(_equals(value, value_of(row, name)) for name, value in expected.items())


def _equals(expected: Any, actual: Any) -> bool:
    """Compare a column; an object or list is compared with a column of JSON text, type by type."""
    if isinstance(expected, dict | list) and isinstance(actual, str):
        return bool(_typed(expected) == _typed(_parsed(actual)))
    if isinstance(expected, str) and isinstance(actual, dict | list):
        # The JSON text of a column, as a door without such texts shows it.
        text = json.dumps(actual, separators=(",", ":"), ensure_ascii=False)
        return bool(expected == text)
    if isinstance(expected, list) and isinstance(actual, list):
        return expected == [_plain(item) for item in actual]
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return bool(expected == actual)


def _parsed(text: str) -> Any:
    """Parse the JSON text of a column, which keeps equal keys: the first of them counts."""
    return json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs)))


def _plain(value: Any) -> Any:
    """Write NaN and the infinities as the words that JSON texts have for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return _WORDS.get(value, "NaN")
    return value


def _typed(value: Any) -> Any:
    """Make 1, 1.0 and true differ; members have no order."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return type(value).__name__, value
