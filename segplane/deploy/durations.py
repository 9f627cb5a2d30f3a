"""Windows and durations of the alerts, in one table; tests render the rules with shorter ones."""

from collections.abc import Mapping
from string import Template

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
SECONDS: Mapping[str, float] = {
    # Windows of rates and increases.
    "rate": 5 * _MINUTE,
    "queries": 15 * _MINUTE,
    "hour": _HOUR,
    "pinned": 6 * _HOUR,
    "day": _DAY,
    "scrub": 2 * _DAY,
    # Ages and gaps beyond which something is late or hangs.
    "fresh": _MINUTE,
    "late": 5 * _MINUTE,
    "hung": 10 * _MINUTE,
    "unchecked": 8 * _DAY,
    # Time for which a condition holds before its alert fires.
    "at_once": 0,
    "outage": 2 * _MINUTE,
    "steady": 5 * _MINUTE,
    # Long and short windows of burn rates, from Google's SRE workbook, chapter 5.
    "burn_1h": _HOUR,
    "burn_5m": 5 * _MINUTE,
    "burn_6h": 6 * _HOUR,
    "burn_30m": 30 * _MINUTE,
    "burn_1d": _DAY,
    "burn_2h": 2 * _HOUR,
    "burn_3d": 3 * _DAY,
    # Evaluation of the rules, and notifications of Alertmanager.
    "evaluation": 15,
    "group_wait": 30,
    "group_interval": 5 * _MINUTE,
    "repeat": 4 * _HOUR,
}
_UNITS = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m"), (1, "s"))


def rendered(text: str, factor: float = 1.0) -> str:
    """Replace `$name` by a duration of the table, and `$name_secs` by its number of seconds.

    Every duration is multiplied by `factor`.
    """
    values = {name: duration(secs * factor) for name, secs in SECONDS.items()}
    numbers = {f"{name}_secs": f"{secs * factor:g}" for name, secs in SECONDS.items()}
    return Template(text).substitute(values, **numbers)


def duration(secs: float) -> str:
    """Write seconds as Prometheus does, in one unit: `5m`, `90s`, `500ms`."""
    for size, unit in _UNITS:
        if secs >= size and secs % size == 0:
            return f"{secs / size:g}{unit}"
    return f"{round(secs * 1000)}ms" if secs else "0s"
