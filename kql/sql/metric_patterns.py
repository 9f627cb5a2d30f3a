"""SQL patterns of counters and histograms: rates, sums of buckets, quantiles.

A quantile is interpolated as Prometheus defines it: linearly within a bucket of explicit bounds,
where the first begins at 0 if its bound is positive and the last has no end, so that its lower
bound stands for it; exponentially within a bucket of an exponential histogram.
https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile
"""

from kql.sql.array_patterns import duckdb_lists, spark_lists
from kql.sql.parameters import with_unique_parameters

# NaN is not a value: Prometheus marks the end of a series so.
# The increase of a counter from one point to the next is the later value if the counter began
# again: its start is another one, as of each delta, or the value fell.
_DUCKDB_RATE = (
    "LIST_TRANSFORM([LIST(STRUCT_PACK(t := EPOCH_US(<2>), s := EPOCH_US(<1>), v := <0>)"
    " ORDER BY <2>, <1>) FILTER (WHERE <0> IS NOT NULL AND NOT ISNAN(<0>) AND <2> IS NOT NULL)], LAMBDA l:"
    " CASE WHEN LEN(l) > 1 AND l[-1].t > l[1].t THEN LIST_SUM(LIST_TRANSFORM(RANGE(2, LEN(l) + 1),"
    " LAMBDA i: CASE WHEN l[i].s IS DISTINCT FROM l[i - 1].s OR l[i].v < l[i - 1].v THEN l[i].v"
    " ELSE l[i].v - l[i - 1].v END)) * 1E6 / (l[-1].t - l[1].t) END)[1]"
)
_SPARK_RATE = (
    "TRANSFORM(ARRAY(ARRAY_SORT(COLLECT_LIST(CASE WHEN <0> IS NOT NULL AND NOT ISNAN(<0>) AND <2> IS NOT NULL THEN"
    " NAMED_STRUCT('t', UNIX_MICROS(<2>), 's', UNIX_MICROS(<1>), 'v', <0>) END))), l ->"
    " CASE WHEN SIZE(l) > 1 AND ELEMENT_AT(l, -1).t > l[0].t THEN"
    " AGGREGATE(SEQUENCE(1, SIZE(l) - 1), 0D, (a, i) -> a + CASE WHEN NOT (l[i].s <=> l[i - 1].s)"
    " OR l[i].v < l[i - 1].v THEN l[i].v ELSE l[i].v - l[i - 1].v END)"
    " * 1E6 / (ELEMENT_AT(l, -1).t - l[0].t) END)[0]"
)
# A list that holds anything but numbers counts as none.
_DUCKDB_WHOLE = (
    "LIST_TRANSFORM([{0}], LAMBDA l: CASE WHEN LEN(LIST_FILTER(l, LAMBDA e: e IS NULL)) = 0"
    " THEN l END)[1]"
)
_SPARK_WHOLE = (
    "TRANSFORM(ARRAY({0}), l -> CASE WHEN SIZE(FILTER(l, e -> e IS NULL)) = 0 THEN l END)[0]"
)
_DUCKDB_COUNTS = _DUCKDB_WHOLE.format("LIST_TRANSFORM(@0, LAMBDA j: TRY_CAST(j AS BIGINT))")
_SPARK_COUNTS = _SPARK_WHOLE.format("TRANSFORM(@0, j -> TRY_CAST(j AS BIGINT))")
_DUCKDB_MERGE = (
    f"CAST(TO_JSON(LIST_REDUCE(LIST({_DUCKDB_COUNTS}) FILTER (WHERE {_DUCKDB_COUNTS} IS NOT NULL),"
    " LAMBDA a, b: LIST_TRANSFORM(LIST_ZIP(a, b),"
    " LAMBDA p: TRY(COALESCE(p[1], 0) + COALESCE(p[2], 0))))) AS VARCHAR)"
)
_SPARK_MERGE = (
    f"TRANSFORM(ARRAY(COLLECT_LIST({_SPARK_COUNTS})), c -> CASE WHEN SIZE(c) > 0 THEN"
    " TO_JSON(AGGREGATE(SLICE(c, 2, SIZE(c)), c[0], (a, b) ->"
    " ZIP_WITH(a, b, (x, y) -> TRY_ADD(COALESCE(x, 0), COALESCE(y, 0))))) END)[0]"
)
_DUCKDB_NUMBERS = f"COALESCE({_DUCKDB_WHOLE}, [])"
_SPARK_NUMBERS = f"COALESCE({_SPARK_WHOLE}, CAST(ARRAY() AS ARRAY<DOUBLE>))"
_DUCKDB_OUTSIDE = (
    " WHEN ISNAN(h.q) THEN h.q WHEN h.q < 0 THEN CAST('-Infinity' AS DOUBLE)"
    " WHEN h.q > 1 THEN CAST('Infinity' AS DOUBLE)"
)
_SPARK_OUTSIDE = (
    " WHEN ISNAN(h.q) THEN h.q WHEN h.q < 0 THEN DOUBLE('-Infinity')"
    " WHEN h.q > 1 THEN DOUBLE('Infinity')"
)
_DUCKDB_QUANTILE = (
    "LIST_TRANSFORM([STRUCT_PACK(c := <1>, b := <2>, q := <0>)], LAMBDA h:"
    " LIST_TRANSFORM([COALESCE(LIST_POSITION(LIST_TRANSFORM(RANGE(1, LEN(h.c) + 1), LAMBDA i:"
    " LIST_SUM(h.c[1:i]) >= h.q * LIST_SUM(h.c) AND h.c[i] > 0), TRUE), 0)], LAMBDA p:"
    f" CASE WHEN LEN(h.b) = 0 OR COALESCE(LIST_SUM(h.c), 0) = 0 THEN NULL{_DUCKDB_OUTSIDE}"
    " WHEN p = 0 THEN NULL"
    " WHEN p > LEN(h.b) THEN h.b[LEN(h.b)] WHEN p = 1 AND h.b[1] <= 0 THEN h.b[1]"
    " ELSE COALESCE(h.b[p - 1], 0) + (h.b[p] - COALESCE(h.b[p - 1], 0))"
    " * (h.q * LIST_SUM(h.c) - COALESCE(LIST_SUM(h.c[1:p - 1]), 0)) / h.c[p] END)[1])[1]"
)
_SPARK_QUANTILE = (
    f"TRANSFORM(ARRAY(NAMED_STRUCT('c', {_SPARK_NUMBERS.format('#1')},"
    f" 'b', {_SPARK_NUMBERS.format('#2')}, 'q', <0>)), h -> TRANSFORM(ARRAY(NAMED_STRUCT("
    "'n', AGGREGATE(h.c, 0D, (a, x) -> a + x), 'p', COALESCE(ARRAY_POSITION(TRANSFORM("
    "CASE WHEN SIZE(h.c) > 0 THEN SEQUENCE(1, SIZE(h.c)) END,"
    " i -> AGGREGATE(SLICE(h.c, 1, i), 0D, (a, x) -> a + x)"
    " >= h.q * AGGREGATE(h.c, 0D, (a, x) -> a + x) AND h.c[i - 1] > 0), TRUE), 0))), s ->"
    f" CASE WHEN SIZE(h.b) < 1 OR s.n = 0 THEN NULL{_SPARK_OUTSIDE}"
    " WHEN s.p = 0 THEN NULL WHEN s.p > SIZE(h.b) THEN ELEMENT_AT(h.b, -1)"
    " WHEN s.p = 1 AND h.b[0] <= 0 THEN h.b[0]"
    " ELSE COALESCE(TRY_ELEMENT_AT(h.b, CAST(NULLIF(s.p, 1) - 1 AS INT)), 0D)"
    " + (h.b[CAST(s.p - 1 AS INT)] - COALESCE(TRY_ELEMENT_AT(h.b, CAST(NULLIF(s.p, 1) - 1 AS INT)), 0D))"
    " * (h.q * s.n - AGGREGATE(SLICE(h.c, 1, CAST(s.p - 1 AS INT)), 0D, (a, x) -> a + x))"
    " / h.c[CAST(s.p - 1 AS INT)] END)[0])[0]"
)
# All buckets from the lowest value on: negative ones, that of zero, positive ones. A place within a
# bucket is a power of two between its bounds' powers, so that it is found linearly among those.
_DUCKDB_RANK = "h.q * LIST_SUM(h.c)"
_DUCKDB_SHARE = f"(({_DUCKDB_RANK} - COALESCE(LIST_SUM(h.c[1:k - 1]), 0)) / h.c[k])"
_DUCKDB_EXPONENTIAL = (
    "LIST_TRANSFORM([STRUCT_PACK(q := <0>, w := POWER(2E0, -CAST(<1> AS DOUBLE)), z := COALESCE(<3>, 0),"
    f" g := LEN({_DUCKDB_NUMBERS.format('#7')}), p := LEN({_DUCKDB_NUMBERS.format('#5')}),"
    f" c := LIST_REVERSE({_DUCKDB_NUMBERS.format('#7')}) || [COALESCE(CAST(<2> AS DOUBLE), 0E0)]"
    f" || {_DUCKDB_NUMBERS.format('#5')})], LAMBDA h:"
    " LIST_TRANSFORM([COALESCE(LIST_POSITION(LIST_TRANSFORM(RANGE(1, LEN(h.c) + 1), LAMBDA i:"
    f" LIST_SUM(h.c[1:i]) >= {_DUCKDB_RANK} AND h.c[i] > 0), TRUE), 0)], LAMBDA k:"
    f" CASE WHEN LIST_SUM(h.c) = 0 THEN NULL{_DUCKDB_OUTSIDE} WHEN k = 0 THEN NULL"
    f" WHEN k > h.g + 1 THEN POWER(2E0, (CAST(<4> AS DOUBLE) + k - h.g - 2 + {_DUCKDB_SHARE}) * h.w)"
    f" WHEN k <= h.g THEN -POWER(2E0, (CAST(<6> AS DOUBLE) + h.g - k + 1 - {_DUCKDB_SHARE}) * h.w)"
    " ELSE CASE WHEN h.g > 0 THEN -h.z ELSE 0E0 END + (CASE WHEN h.p > 0 THEN h.z ELSE 0E0 END"
    f" + CASE WHEN h.g > 0 THEN h.z ELSE 0E0 END) * {_DUCKDB_SHARE} END)[1])[1]"
)
_SPARK_SUM = "AGGREGATE({}, 0D, (a, x) -> a + x)"
_SPARK_TOTAL = _SPARK_SUM.format("h.c")
_SPARK_SHARE = (
    f"((h.q * {_SPARK_TOTAL} - {_SPARK_SUM.format('SLICE(h.c, 1, CAST(k - 1 AS INT))')})"
    " / h.c[CAST(k - 1 AS INT)])"
)
_SPARK_EXPONENTIAL = (
    "TRANSFORM(ARRAY(NAMED_STRUCT('q', <0>, 'w', POWER(2D, -CAST(<1> AS DOUBLE)), 'z', COALESCE(<3>, 0D),"
    f" 'g', SIZE({_SPARK_NUMBERS.format('#7')}), 'p', SIZE({_SPARK_NUMBERS.format('#5')}),"
    f" 'o', CAST(<4> AS DOUBLE), 'm', CAST(<6> AS DOUBLE), 'c', CONCAT(REVERSE({_SPARK_NUMBERS.format('#7')}),"
    f" ARRAY(COALESCE(CAST(<2> AS DOUBLE), 0D)), {_SPARK_NUMBERS.format('#5')}))), h ->"
    " TRANSFORM(ARRAY(ARRAY_POSITION(TRANSFORM(SEQUENCE(1, SIZE(h.c)), i ->"
    f" {_SPARK_SUM.format('SLICE(h.c, 1, i)')} >= h.q * {_SPARK_TOTAL} AND h.c[i - 1] > 0), TRUE)),"
    f" k -> CASE WHEN {_SPARK_TOTAL} = 0 THEN NULL{_SPARK_OUTSIDE} WHEN k = 0 THEN NULL"
    f" WHEN k > h.g + 1 THEN POWER(2D, (h.o + k - h.g - 2 + {_SPARK_SHARE}) * h.w)"
    f" WHEN k <= h.g THEN -POWER(2D, (h.m + h.g - k + 1 - {_SPARK_SHARE}) * h.w)"
    " ELSE CASE WHEN h.g > 0 THEN -h.z ELSE 0D END + (CASE WHEN h.p > 0 THEN h.z ELSE 0D END"
    f" + CASE WHEN h.g > 0 THEN h.z ELSE 0D END) * {_SPARK_SHARE} END)[0])[0]"
)


def rate(*arguments: str) -> str:
    """Return the SQL of a counter's rate in DuckDB: of its value, start and time."""
    return _written(_DUCKDB_RATE, arguments)


def quantile(*arguments: str) -> str:
    """Return the SQL of a quantile of a histogram in DuckDB: of the share, counts and bounds."""
    return _written(_DUCKDB_QUANTILE, arguments)


def exponential_quantile(*arguments: str) -> str:
    """Return the SQL of a quantile of an exponential histogram in DuckDB, over JSON arrays."""
    return _written(_DUCKDB_EXPONENTIAL, arguments)


def _written(pattern: str, arguments: tuple[str, ...]) -> str:
    pattern = with_unique_parameters(duckdb_lists(pattern))
    for index, argument in enumerate(arguments):
        pattern = pattern.replace(f"<{index}>", argument)
    return pattern


_DUCKDB = {
    "rate": _DUCKDB_RATE,
    "merge_buckets": _DUCKDB_MERGE,
    "histogram_quantile": quantile(
        "<0>", _DUCKDB_NUMBERS.format("#1"), _DUCKDB_NUMBERS.format("#2")
    ),
    "exponential_histogram_quantile": _DUCKDB_EXPONENTIAL,
}
_SPARK = {
    "rate": _SPARK_RATE,
    "merge_buckets": _SPARK_MERGE,
    "histogram_quantile": _SPARK_QUANTILE,
    "exponential_histogram_quantile": _SPARK_EXPONENTIAL,
}
DUCKDB = {name: duckdb_lists(pattern) for name, pattern in _DUCKDB.items()}
SPARK = {name: spark_lists(pattern) for name, pattern in _SPARK.items()}
