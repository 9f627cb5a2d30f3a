"""Counters of exports; looking up a metric by its labels takes longer than counting."""

from collections.abc import Callable
from functools import cache

from collector.refusal import Refusal
from meta.metrics import EXPORT_BYTES, EXPORTS, THROTTLED_EXPORTS
from segments.signals import Signal


def count_taken(signal: Signal, outcome: str, size_bytes: int) -> None:
    """Count an export that was answered without a refusal."""
    _exports(signal, outcome)()
    _export_bytes(signal)(size_bytes)


def count_refused(signal: Signal, refusal: Refusal) -> None:
    """Count an export that was not taken, wherever on its way it was refused."""
    _exports(signal, refusal.outcome)()
    if refusal.limit:
        THROTTLED_EXPORTS.labels(refusal.limit).inc()


@cache
def _exports(signal: Signal, outcome: str) -> Callable[[], None]:
    return EXPORTS.labels(signal, outcome).inc


@cache
def _export_bytes(signal: Signal) -> Callable[[float], None]:
    return EXPORT_BYTES.labels(signal).inc
