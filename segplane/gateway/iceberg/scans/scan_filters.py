"""Filters of scans, as far as the catalog prunes by them: the time and the signal."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

from segments.signals import SIGNALS
from segplane.gateway.iceberg.refusals import RequestRefused

DEPTH_MAX = 200
MICROS_MIN, MICROS_MAX = -(2**63) // 1_000, (2**63 - 1) // 1_000
_FRACTION_DIGITS = 6
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COMPARISONS = ("lt", "lt-eq", "gt", "gt-eq", "eq", "not-eq", "starts-with", "not-starts-with")
_SETS = ("in", "not-in")
_UNARY = ("is-null", "not-null", "is-nan", "not-nan")


@dataclass(frozen=True, slots=True)
class ScanBounds:
    """Times in microseconds, both inclusive, and signals, outside of which no row fits."""

    low: int = MICROS_MIN
    high: int = MICROS_MAX
    signals: frozenset[str] = frozenset(SIGNALS)

    @property
    def has_times(self) -> bool:
        """True if some times are skipped."""
        return self.low > MICROS_MIN or self.high < MICROS_MAX

    @property
    def is_empty(self) -> bool:
        """True if no row fits."""
        low, high = max(self.low, MICROS_MIN), min(self.high, MICROS_MAX)
        return low > high or not self.signals

    def __and__(self, other: "ScanBounds") -> "ScanBounds":
        """Return what lies in both."""
        signals = self.signals & other.signals
        return ScanBounds(max(self.low, other.low), min(self.high, other.high), signals)

    def __or__(self, other: "ScanBounds") -> "ScanBounds":
        """Return what holds both, and perhaps more."""
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        signals = self.signals | other.signals
        return ScanBounds(min(self.low, other.low), max(self.high, other.high), signals)


_ALL = ScanBounds()
_NONE = ScanBounds(signals=frozenset())


def scan_bounds(expression: Any, depth: int = 0) -> ScanBounds:
    """Return the bounds of a filter in the JSON of Iceberg's specification.

    Unknown terms over other columns bound nothing. Raises RequestRefused.
    """
    if depth > DEPTH_MAX:
        raise RequestRefused(f"the filter is nested more than {DEPTH_MAX} deep")
    if isinstance(expression, bool):
        return _ALL if expression else _NONE
    kind = expression.get("type") if isinstance(expression, dict) else None
    if kind in ("true", "false"):
        return _ALL if kind == "true" else _NONE
    if kind in ("and", "or"):
        lower, right = (scan_bounds(expression.get(side), depth + 1) for side in ("left", "right"))
        return lower & right if kind == "and" else lower | right
    if kind == "not":
        scan_bounds(expression.get("child"), depth + 1)
        return _ALL
    if kind not in (*_COMPARISONS, *_SETS, *_UNARY):
        raise RequestRefused(f"the filter holds {str(kind)[:80]!r}, which is not an expression")
    return _predicate(str(kind), expression)


def _predicate(kind: str, expression: dict[str, Any]) -> ScanBounds:
    term = expression.get("term")
    if isinstance(term, dict):
        # That of a transform is not a column.
        term = term.get("term") if term.get("type") == "reference" else ""
    if not isinstance(term, str):
        raise RequestRefused(f"the filter's {kind} names no column")
    values = [expression.get("value")] if kind in _COMPARISONS else expression.get("values")
    if kind in _SETS and not isinstance(values, list):
        raise RequestRefused(f"the filter's {kind} has no list of values")
    if kind in _UNARY or not values:
        return _ALL
    if term.lower() == "signal":
        return _of_signals(kind, values)
    return _of_times(kind, values) if term.lower() == "timestamp" else _ALL


def _of_signals(kind: str, values: Sequence[Any]) -> ScanBounds:
    signals = frozenset(str(value) for value in values)
    if kind in ("eq", "in"):
        return ScanBounds(signals=signals & frozenset(SIGNALS))
    if kind in ("not-eq", "not-in"):
        return ScanBounds(signals=frozenset(SIGNALS) - signals)
    return _ALL


def _of_times(kind: str, values: Sequence[Any]) -> ScanBounds:
    times = [_micros(value) for value in values]
    time, is_exact = times[0]
    match kind:
        case "lt":
            # For a time between two microseconds the lower one fits.
            return ScanBounds(high=time - is_exact)
        case "lt-eq":
            return ScanBounds(high=time)
        case "gt":
            return ScanBounds(low=time + 1)
        case "gt-eq":
            return ScanBounds(low=time)
        case "eq" | "in":
            return reduce(ScanBounds.__or__, (ScanBounds(time, time) for time, _ in times))
    return _ALL


def _micros(value: Any) -> tuple[int, bool]:
    """Return whole microseconds since 1970, and whether they are exact. Raises RequestRefused."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _clamped(value), True
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise RequestRefused(
            f"the filter compares timestamp with {str(value)[:80]!r}, expected a time such as"
            " 2026-11-22T10:00:00+00:00 or microseconds since 1970"
        ) from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    fraction = value.partition(".")[2]
    digits = len(fraction) - len(fraction.lstrip("0123456789"))
    micros = (time - _EPOCH) // timedelta(microseconds=1)
    return _clamped(micros), digits <= _FRACTION_DIGITS


def _clamped(micros: int) -> int:
    """Return a time beyond those of records as the next one to them."""
    return min(max(micros, MICROS_MIN - 1), MICROS_MAX + 1)
