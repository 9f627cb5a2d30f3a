"""Rates of counters and quantiles of histograms, as Prometheus documents them."""

from tests.kql.corpus.case import Case, scalar

_POINTS = "datatable(v:real, s:datetime, t:datetime)"
_START = "datetime(2026-01-01)"


def _rate(name: str, points: str, value: float | None) -> Case:
    """Return the case of the rate of some points."""
    query = f"{_POINTS}[{points}] | summarize r = rate(v, s, t)"
    return Case(name, query, {"r": "real"}, [(value,)])


def _at(value: float, second: int, start: str = _START) -> str:
    """Return a point of a counter, so many seconds after midnight."""
    return f"{value}, {start}, datetime(2026-01-01) + {second}s"


def _exponential(name: str, arguments: str, value: float | None) -> Case:
    """Return the case of a quantile of an exponential histogram."""
    return scalar(name, f"exponential_histogram_quantile({arguments})", "real", value)


CASES = [
    # Of (0.5, 1, +Inf]: https://prometheus.io/docs/practices/histograms/#quantiles has the shape.
    scalar("a quantile within a bucket", "histogram_quantile(0.5, dynamic([0, 10, 0]), dynamic([1, 2]))", "real", 1.5),
    scalar("a quantile of the first bucket begins at 0", "histogram_quantile(0.25, dynamic([10, 10, 0]), dynamic([1, 2]))", "real", 0.5),
    scalar("a quantile of a first bucket below 0", "histogram_quantile(0.1, dynamic([10, 10, 0]), dynamic([-1, 2]))", "real", -1.0),
    scalar("a quantile of the last bucket is its lower bound", "histogram_quantile(0.99, dynamic([10, 10, 100]), dynamic([1, 2]))", "real", 2.0),
    scalar("the 95th percentile in a bucket from 200 to 300 ms", "histogram_quantile(0.95, dynamic([0, 0, 100, 0]), dynamic([0.1, 0.2, 0.3]))", "real", 0.295),
    scalar("a quantile below 0", "histogram_quantile(-0.1, dynamic([1, 1]), dynamic([1]))", "real", float("-inf")),
    scalar("a quantile above 1", "histogram_quantile(1.1, dynamic([1, 1]), dynamic([1]))", "real", float("inf")),
    scalar("a quantile of nothing", "histogram_quantile(0.5, dynamic([0, 0]), dynamic([1]))", "real", None),
    scalar("a quantile without bounds", "histogram_quantile(0.5, dynamic([5]), dynamic([]))", "real", None),
    scalar("a quantile of what are not numbers", "histogram_quantile(0.5, dynamic(['x']), dynamic([1]))", "real", None),
    scalar("the least value", "histogram_quantile(0, dynamic([0, 10, 0]), dynamic([1, 2]))", "real", 1.0),
    scalar("the greatest value", "histogram_quantile(1, dynamic([0, 10, 0]), dynamic([1, 2]))", "real", 2.0),
    # https://opentelemetry.io/docs/specs/otel/metrics/data-model/#no-recorded-value
    Case(
        "a point without a recorded value is not a reset",
        f"datatable(v:real, s:datetime, t:datetime, f:long)[{_at(10.0, 0)}, 0, {_at(0.0, 1)}, 1,"
        f" {_at(30.0, 2)}, long(null)] | summarize r = rate(v, s, t, f)",
        {"r": "real"},
        [(10.0,)],
    ),
    Case(
        "NaN is not a point of a counter",
        f"{_POINTS}[{_at(10.0, 0)}, real(nan), {_START}, datetime(2026-01-01) + 1s, {_at(30.0, 2)}]"
        " | summarize r = rate(v, s, t)",
        {"r": "real"},
        [(10.0,)],
    ),
    # Buckets of scale 0 are (1, 2], (2, 4], (4, 8]: the middle of one is the root of its bounds.
    _exponential("the middle of an exponential bucket", "0.5, 0, 0, 0.0, 0, dynamic([0, 10]), 0, dynamic([])", 8**0.5),
    _exponential("exponential buckets from an offset", "1, 0, 0, 0.0, 2, dynamic([10]), 0, dynamic([])", 8.0),
    _exponential("finer exponential buckets", "0.5, 1, 0, 0.0, 1, dynamic([10]), 0, dynamic([])", 2**0.75),
    _exponential("wider exponential buckets", "0.5, -1, 0, 0.0, 0, dynamic([10]), 0, dynamic([])", 2.0),
    _exponential("negative exponential buckets", "0.25, 0, 0, 0.0, 0, dynamic([10]), 0, dynamic([10])", -(2**0.5)),
    _exponential("the lowest of negative buckets", "0, 0, 0, 0.0, 0, dynamic([]), 0, dynamic([10, 10])", -4.0),
    _exponential("the bucket of zero", "0.5, 0, 10, 1.0, 0, dynamic([]), 0, dynamic([])", 0.0),
    _exponential("the bucket of zero below positive ones", "0.25, 0, 10, 1.0, 0, dynamic([10]), 0, dynamic([])", 0.5),
    _exponential("the bucket of zero between both", "0.5, 0, 10, 1.0, 0, dynamic([10]), 0, dynamic([10])", 0.0),
    _exponential("an empty exponential histogram", "0.5, 0, 0, 0.0, 0, dynamic([]), 0, dynamic([])", None),
    _exponential("an exponential quantile above 1", "2, 0, 0, 0.0, 0, dynamic([1]), 0, dynamic([])", float("inf")),
    _exponential("an exponential histogram without negative buckets", "1, 0, 0, real(null), 0, dynamic([1]), long(null), dynamic(null)", 2.0),
    _exponential("the lowest scale that a number can be", "0.5, long(-9223372036854775808), 0, 0.0, 0, dynamic([]), 0, dynamic([])", None),
    _exponential("the highest offset that a number can be", "0.5, 0, 0, 0.0, 9223372036854775807, dynamic([10]), 0, dynamic([])", float("inf")),
    _exponential("the highest negative offset", "0.5, 0, 0, 0.0, 0, dynamic([]), 9223372036854775807, dynamic([10])", float("-inf")),
    Case(
        "sums of buckets",
        "datatable(b:dynamic)[dynamic([1, 2]), dynamic([3, 4]), dynamic(null)]"
        " | summarize m = merge_buckets(b)",
        {"m": "dynamic"},
        [([4, 6],)],
    ),
    Case(
        "a quantile of several histograms",
        "datatable(b:dynamic)[dynamic([0, 4, 0]), dynamic([0, 6, 0])]"
        " | summarize q = histogram_quantile(0.5, merge_buckets(b), dynamic([1, 2]))",
        {"q": "real"},
        [(1.5,)],
    ),
    _rate("a rate of a cumulative counter", ", ".join([_at(100, 0), _at(160, 60), _at(220, 120)]), 1.0),
    _rate("a rate where the value falls", ", ".join([_at(100, 0), _at(160, 60), _at(30, 120)]), 0.75),
    _rate(
        "a rate where the start changes",
        ", ".join([_at(100, 0), _at(160, 60), _at(200, 120, f"{_START} + 60s")]),
        260 / 120,
    ),
    _rate(
        "a rate of deltas",
        ", ".join([_at(5, 60), _at(30, 120, f"{_START} + 60s"), _at(60, 180, f"{_START} + 120s")]),
        0.75,
    ),
    _rate("a rate of points out of order", ", ".join([_at(220, 120), _at(100, 0), _at(160, 60)]), 1.0),
    _rate("a rate of one point", _at(100, 0), None),
    Case(
        "a rate by series",
        "datatable(k:string, v:long, s:datetime, t:datetime)["
        f"'a', 0, {_START}, {_START}, 'a', 60, {_START}, {_START} + 60s,"
        f" 'b', 0, {_START}, {_START}, 'b', 30, {_START}, {_START} + 60s]"
        " | summarize r = rate(v, s, t) by k",
        {"k": "string", "r": "real"},
        [("a", 1.0), ("b", 0.5)],
    ),
    Case(
        "the rate of all series",
        "datatable(k:string, v:long, s:datetime, t:datetime)["
        f"'a', 0, {_START}, {_START}, 'a', 60, {_START}, {_START} + 60s,"
        f" 'b', 0, {_START}, {_START}, 'b', 30, {_START}, {_START} + 60s]"
        " | summarize r = rate(v, s, t) by k | summarize sum(r)",
        {"sum_r": "real"},
        [(1.5,)],
    ),
]  # fmt: skip
