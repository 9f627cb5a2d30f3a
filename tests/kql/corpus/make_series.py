"""make-series, sample and their like, as Kusto documents them."""

from tests.kql.corpus.case import Case

_DAYS = ["2007-01-01T00:00:00.0000000Z", "2007-01-31T00:00:00.0000000Z"]
_TO_MARCH = "on StartTime from datetime(2007-01-01) to datetime(2007-03-02) step 30d"

CASES = [
    Case(
        "make-series by a key",
        f"StormEvents | make-series n = count() default=0 {_TO_MARCH} by State",
        {"State": "string", "n": "dynamic", "StartTime": "dynamic"},
        [
            ("TEXAS", [2, 0], _DAYS),
            ("FLORIDA", [0, 1], _DAYS),
            ("KANSAS", [0, 2], _DAYS),
        ],
    ),
    Case(
        "make-series without a key",
        f"StormEvents | make-series count() {_TO_MARCH}",
        {"count_": "dynamic", "StartTime": "dynamic"},
        [([2, 3], _DAYS)],
    ),
    Case(
        "make-series of several aggregates",
        "range x from 1 to 6 step 1 | where x != 3 and x != 4"
        " | make-series s = sum(x) default=-1, m = max(x) on x from 1 to 7 step 2",
        {"s": "dynamic", "m": "dynamic", "x": "dynamic"},
        [([3, -1, 11], [2, 0, 6], [1, 3, 5])],
    ),
    Case(
        "make-series of no rows",
        f"StormEvents | where false | make-series count() {_TO_MARCH}",
        {"count_": "dynamic", "StartTime": "dynamic"},
        [],
    ),
    Case(
        "make-series with an end within a step",
        "range x from 1 to 4 step 1 | make-series n = count() on x from 1 to 4 step 2",
        {"n": "dynamic", "x": "dynamic"},
        [([2, 1], [1, 3])],
    ),
    Case(
        "make-series and series functions",
        "range x from 1 to 4 step 1 | make-series n = sum(x) on x from 1 to 5 step 1"
        " | project d = series_subtract(n, n), total = series_stats_dynamic(n).max",
        {"d": "dynamic", "total": "dynamic"},
        [([0.0, 0.0, 0.0, 0.0], 4.0)],
    ),
    Case(
        "make-series and mv-expand",
        f"StormEvents | make-series n = count() {_TO_MARCH} by State"
        " | mv-expand n to typeof(long) | summarize sum(n)",
        {"sum_n": "long"},
        [(5,)],
    ),
    Case("sample", "StormEvents | sample 3 | count", {"Count": "long"}, [(3,)]),
    Case(
        "sample-distinct",
        "StormEvents | sample-distinct 2 of State | count",
        {"Count": "long"},
        [(2,)],
    ),
    Case(
        "sample-distinct of all values",
        "StormEvents | sample-distinct 10 of State",
        {"State": "string"},
        [("TEXAS",), ("FLORIDA",), ("KANSAS",), ("GEORGIA",)],
    ),
]
