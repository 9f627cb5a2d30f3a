"""Ten questions of users, and how each engine spells them.

All answers are whole numbers and text, so that engines can be compared for equality.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.gateway.shop import DAY_0, HOUR_MICROS, LATENCY, ONLY, STRADDLER, TRACE

DAY_MICROS = 24 * HOUR_MICROS
_START = DAY_0 // 1_000


@dataclass(frozen=True, slots=True)
class Dialect:
    """Spelling of what differs between engines; `micros` is the time as whole microseconds."""

    name: str
    table: Callable[[str, int], str]
    micros: str
    at: Callable[[str], str]
    # Of two whole numbers, rounded down.
    divide: str
    quote: str
    # The buckets of the rows that a condition selects, numbered from 1.
    buckets: str

    def between(self, start: int, end: int) -> str:
        """A condition on the time in microseconds; the end is excluded."""
        low, high = self.at(_iso(start)), self.at(_iso(end))
        return f"timestamp >= {low} AND timestamp < {high}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question: `sql` of a dialect and a table; the conditions that a reader can push down."""

    name: str
    sql: Callable[[Dialect, str], str]
    signal: str = ""
    # The first microsecond, and the first one behind.
    span: tuple[int, int] | None = None
    equal: tuple[str, str] | None = None

    def conditions(self) -> dict[str, Any]:
        """The conditions for a reader without SQL."""
        times = [_iso(one) + "+00:00" for one in self.span or ()]
        return {"signal": self.signal, "span": times, "equal": self.equal}


def _iso(micros: int) -> str:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros)
    return moment.replace(tzinfo=None).isoformat(sep="T")


def _by_service_and_hour(d: Dialect, t: str) -> str:
    hour = d.divide.format(d.micros, HOUR_MICROS)
    return (
        f"SELECT service_name, {hour} AS h, count(*) AS n FROM {t} WHERE signal = 'logs'"
        f" GROUP BY service_name, {hour}"
    )


def _error_rate(_: Dialect, t: str) -> str:
    return (
        "SELECT service_name, sum(CASE WHEN status_code = 2 THEN 1 ELSE 0 END) AS failed,"
        f" count(*) AS n FROM {t} WHERE signal = 'traces' GROUP BY service_name"
    )


def _p99(_: Dialect, t: str) -> str:
    return (
        "SELECT max(duration_ns) AS p99 FROM (SELECT duration_ns, row_number() OVER (ORDER BY"
        f" duration_ns) AS place, count(*) OVER () AS n FROM {t}"
        " WHERE signal = 'traces' AND duration_ns IS NOT NULL) ranked"
        " WHERE place * 100 <= n * 99 + 99"
    )


def _one_trace(d: Dialect, t: str) -> str:
    return (
        f"SELECT count(*) AS n, sum(duration_ns) AS total FROM {t} WHERE signal = 'traces'"
        f" AND trace_id = '{TRACE}' AND {d.between(*_HOUR)}"
    )


def _histogram_quantile(d: Dialect, t: str) -> str:
    buckets = d.buckets.format(t=t, where=f"signal = 'metrics' AND metric_name = '{LATENCY}'")
    summed = f"SELECT place, sum(bucket) AS bucket FROM ({buckets}) b GROUP BY place"
    return (
        "SELECT min(place) AS p95 FROM (SELECT place, sum(bucket) OVER (ORDER BY place) AS below,"
        f" sum(bucket) OVER () AS n FROM ({summed}) s) r WHERE below * 100 >= n * 95"
    )


def _logs_of_failed_traces(_: Dialect, t: str) -> str:
    return (
        f"SELECT count(*) AS n, count(DISTINCT l.trace_id) AS traces FROM {t} l"
        f" JOIN {t} s ON l.trace_id = s.trace_id"
        " WHERE l.signal = 'logs' AND s.signal = 'traces' AND s.status_code = 2"
    )


def _promoted(d: Dialect, t: str) -> str:
    column = f"{d.quote}user.id{d.quote}"
    return f"SELECT {column} AS who, count(*) AS n FROM {t} WHERE signal = 'logs' GROUP BY {column}"


def _late(d: Dialect, t: str) -> str:
    return (
        f"SELECT count(*) AS n, min({d.micros}) AS low, max({d.micros}) AS high FROM {t}"
        f" WHERE {d.between(*_FIRST_DAY)}"
    )


def _straddling(d: Dialect, t: str) -> str:
    day = d.divide.format(d.micros, DAY_MICROS)
    return (
        f"SELECT {day} AS d, count(*) AS n, sum(timestamp_nanos) AS remainders FROM {t}"
        f" WHERE service_name = '{STRADDLER}' GROUP BY {day}"
    )


def _one_record(_: Dialect, t: str) -> str:
    return f"SELECT * FROM {t} WHERE signal = 'metrics' AND metric_name = '{ONLY}'"


_HOUR = (_START + 2 * DAY_MICROS, _START + 2 * DAY_MICROS + HOUR_MICROS)
_FIRST_DAY = (_START, _START + DAY_MICROS)

QUESTIONS: Sequence[Question] = (
    Question("records by service and hour", _by_service_and_hour, "logs"),
    Question("error rate", _error_rate, "traces"),
    Question("99th percentile of durations", _p99, "traces"),
    Question("one trace in one hour", _one_trace, "traces", _HOUR, ("trace_id", TRACE)),
    Question(
        "quantile of a histogram",
        _histogram_quantile,
        "metrics",
        equal=("metric_name", LATENCY),
    ),
    Question("logs of failed traces", _logs_of_failed_traces),
    Question("a column promoted half-way", _promoted, "logs"),
    Question("late records of a day", _late, span=_FIRST_DAY),
    Question("records of a straddling file", _straddling, equal=("service_name", STRADDLER)),
    Question("all columns of one record", _one_record, "metrics", equal=("metric_name", ONLY)),
)

_UNNESTED = (
    "SELECT unnest(bucket_counts) AS bucket, generate_subscripts(bucket_counts, 1) AS place"
    " FROM {t} WHERE {where}"
)
DUCKDB = Dialect(
    name="duckdb",
    table=lambda dataset, version: f'segplane."default"."{dataset}@{version}"',
    micros="epoch_us(timestamp)",
    at=lambda iso: f"TIMESTAMPTZ '{iso}+00'",
    divide="({0} // {1})",
    quote='"',
    buckets=_UNNESTED,
)
SPARK = Dialect(
    name="spark",
    table=lambda dataset, version: f"segplane.default.`{dataset}@{version}`",
    micros="unix_micros(timestamp)",
    at=lambda iso: f"TIMESTAMP '{iso}Z'",
    divide="({0} div {1})",
    quote="`",
    buckets="SELECT position + 1 AS place, bucket FROM {t}"
    " LATERAL VIEW posexplode(bucket_counts) e AS position, bucket WHERE {where}",
)
TRINO = Dialect(
    name="trino",
    table=lambda dataset, version: f'segplane."default"."{dataset}__v{version}"',
    micros="CAST(round(to_unixtime(timestamp) * 1000000) AS bigint)",
    at=lambda iso: f"TIMESTAMP '{iso.replace('T', ' ')} UTC'",
    divide="({0} / {1})",
    quote='"',
    buckets="SELECT place, bucket FROM {t}"
    " CROSS JOIN UNNEST(bucket_counts) WITH ORDINALITY AS e (bucket, place) WHERE {where}",
)
CLICKHOUSE = Dialect(
    name="clickhouse",
    table=lambda dataset, version: f"segplane.`default.{dataset}@{version}`",
    micros="toUnixTimestamp64Micro(timestamp)",
    at=lambda iso: f"toDateTime64('{iso.replace('T', ' ')}', 6, 'UTC')",
    divide="intDiv({0}, {1})",
    quote="`",
    buckets="SELECT place, bucket FROM {t}"
    " ARRAY JOIN bucket_counts AS bucket, arrayEnumerate(bucket_counts) AS place WHERE {where}",
)
