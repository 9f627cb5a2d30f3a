"""A filter answers as on the same rows collected first, by every library and language.

The values are those by whose bounds row groups are skipped, some in files that have bounds.
"""

import operator
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from segments.parquet.schema import section_schema
from segplane.query.engine import opened_query
from segplane.query.runs import define_views, plan
from segplane.query.sources import QueryPlace
from segplane.read import OpenDataset
from segplane.read.lookup import find_all
from tests.segplane.read.conftest import Open
from tests.support.examples import some_or_all
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.segments import EPOCH
from tests.support.meta.server import MetaServer

NAN, INFINITY = float("nan"), float("inf")
# Of each file: equal bounds with and without NaN, zeros, infinities, nulls, and no value at all.
FILES: tuple[tuple[float | None, ...], ...] = (
    (1.0, NAN),
    (1.0, NAN, 2.0),
    (-0.0,),
    (0.0, NAN),
    (INFINITY, NAN, None),
    (-INFINITY, None),
    (NAN,),
    (None,),
    (5.0, 150.0),
)
TIME = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=EPOCH // 1_000)
OPERATORS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
WORDS = ("=", "<>", "<", "<=", ">", ">=")
CONSTANTS = (NAN, 1.0, 0.0, -0.0, 100.0, INFINITY, -INFINITY)


@pytest.fixture(params=["old", "new"])
def metrics(request: pytest.FixtureRequest, segments: SegmentWriter) -> SegmentWriter:
    """Files of gauges, each value with a time, a name and its own count."""
    schema = section_schema("metrics")
    number = 0
    for index, values in enumerate(FILES):
        # Half of the old files have been rewritten.
        segments.has_float_bounds = request.param == "old" and index != 1
        rows = []
        for value in values:
            rows.append(
                {
                    "signal": "metrics",
                    "timestamp": EPOCH + number * 1_000_000,
                    "service_name": None if number % 5 == 4 else f"service-{number % 3}",
                    "metric_name": "m",
                    "value_double": value,
                    "value_long": None if number % 4 == 3 else number,
                    "is_monotonic": number % 2 == 0,
                }
            )
            number += 1
        full = [{name: row.get(name) for name in schema.names} for row in rows]
        segments.register({"metrics": pa.Table.from_pylist(full, schema)}, segments.spec())
    return segments


def test_segments_say_whether_their_bounds_leave_no_value_out(segments: SegmentWriter) -> None:
    new = segments.write(signals=("metrics",))
    segments.has_float_bounds = True
    old = segments.write(signals=("metrics",))

    found = find_all(segments.client, FindSegmentsRequest(dataset_names=["web"]))

    assert {segment.id: segment.written_facts.has_exact_bounds for segment in found} == {
        new: True,
        old: False,
    }


def collected(dataset: OpenDataset) -> pa.Table:
    return dataset.to_table()


def times(table: Any) -> list[Any]:
    return sorted(table["timestamp"].cast(pa.int64()).to_pylist())


def arrow_predicates() -> list[pc.Expression]:
    d, n = pc.field("value_double"), pc.field("value_long")
    compared = [compare(d, constant) for compare in OPERATORS for constant in CONSTANTS]
    return [
        *compared,
        *(~condition for condition in compared),
        pc.is_nan(d),
        ~pc.is_nan(d),
        d.is_null(),
        d.is_null(nan_is_null=True),
        d.is_valid(),
        d.isin([1.0, NAN]),
        ~d.isin([1.0, NAN]),
        (d > 100) | (n == 2),
        (d != 1) & (n >= 1) & (pc.field("service_name") == "service-1"),
        n != 3,
        n.isin([1, 2]),
    ]


@pytest.mark.parametrize("predicates", some_or_all(arrow_predicates(), 7))
def test_a_filter_of_pyarrow_answers_as_on_collected_rows(
    metrics: SegmentWriter, opened: Open, predicates: list[pc.Expression]
) -> None:
    source = opened().to_arrow()
    assert isinstance(source, ds.Dataset)
    table = collected(opened())

    for predicate in predicates:
        expected = table.filter(predicate)
        assert times(source.to_table(filter=predicate)) == times(expected), predicate
        assert source.count_rows(filter=predicate) == expected.num_rows, predicate
        filtered = source.filter(predicate)
        assert times(filtered.to_table(columns=["timestamp"])) == times(expected), predicate
        assert times(filtered.sort_by("timestamp").to_table()) == times(expected), predicate
        first = source.head(2, filter=predicate)
        assert first.num_rows == min(2, expected.num_rows), predicate
        doubled = {"timestamp": pc.field("timestamp"), "twice": pc.field("value_double") * 2}
        assert times(source.to_table(columns=doubled, filter=predicate)) == times(expected)


def polars_predicates() -> list[pl.Expr]:
    d, n, s = pl.col("value_double"), pl.col("value_long"), pl.col("service_name")
    t = pl.col("timestamp")
    compared = [compare(d, constant) for compare in OPERATORS for constant in CONSTANTS]
    later = TIME + timedelta(milliseconds=3)
    others = [
        compare(column, constant)
        for compare in OPERATORS
        for column, constant in ((n, 3), (n, 2.5), (n, 2**40), (s, "service-1"), (t, later))
    ]
    return [
        *compared,
        *others,
        *(~condition for condition in (*compared, *others)),
        d.is_nan(),
        d.is_not_nan(),
        d.is_null(),
        d.is_not_null(),
        d.is_finite(),
        d.is_infinite(),
        d.is_in([1.0, NAN]),
        ~d.is_in([1.0, NAN]),
        d.is_between(1, NAN),
        d.is_between(1, 100, closed="none"),
        d.eq_missing(None),
        d.ne_missing(1.0),
        (d > 100) | (n == 2),
        (d > 100) & (n > 2) & (s == "service-0"),
        n.is_in([1, 2, None]),
        ~n.is_in([1, 2]),
        n.is_between(1, 3),
        t.is_between(TIME, later),
        s.is_in(["service-0", "other"]),
        s.str.starts_with("service-1"),
        s.is_null() | (n < 3),
        pl.col("is_monotonic"),
        ~pl.col("is_monotonic"),
        pl.col("is_monotonic") == False,  # noqa: E712 - Polars overloads it
        pl.lit(3) > n,
        (n + 1) > 3,
    ]


@pytest.mark.parametrize("predicates", some_or_all(polars_predicates(), 7))
def test_a_predicate_of_polars_answers_as_on_the_collected_frame(
    metrics: SegmentWriter, opened: Open, predicates: list[pl.Expr]
) -> None:
    lazy = opened().polars()
    frame = lazy.collect()

    for predicate in predicates:
        expected = frame.filter(predicate).sort("timestamp")
        assert lazy.filter(predicate).sort("timestamp").collect().equals(expected), predicate
        shown = lazy.filter(predicate).select("timestamp").sort("timestamp").collect()
        assert shown.equals(expected.select("timestamp")), predicate
        assert lazy.filter(predicate).head(2).collect().height == min(2, expected.height)
        assert lazy.head(3).filter(predicate).collect().height <= 3
    assert lazy.head(3).filter(pl.col("value_long") >= 0).collect().height == (
        lazy.head(3).collect().filter(pl.col("value_long") >= 0).height
    )
    largest = lazy.sort("value_double", descending=True, nulls_last=True).head(3).collect()
    assert largest["value_double"].is_nan().all()


def sql_predicates(function: str = "isnan") -> list[str]:
    constants = ["'nan'::DOUBLE", "1", "0.0", "-0.0", "100", "'infinity'::DOUBLE", "NULL"]
    compared = [f"value_double {word} {constant}" for word in WORDS for constant in constants]
    return [
        *compared,
        *(f"NOT ({condition})" for condition in compared),
        f"{function}(value_double)",
        f"NOT {function}(value_double)",
        "value_double IS NULL",
        "value_double IS NOT NULL",
        "value_double IN (1.0, 'nan'::DOUBLE)",
        "value_double NOT IN (1.0, 'nan'::DOUBLE)",
        "value_double BETWEEN 1 AND 'nan'::DOUBLE",
        "value_double IS DISTINCT FROM 1",
        "value_double IS NOT DISTINCT FROM 'nan'::DOUBLE",
        "value_double > 100 OR value_long = 2",
        "value_double > 100 AND value_long > 2",
        "isfinite(value_double)",
        "isinf(value_double)",
        "value_double * 2 > 100",
        "value_long <> 3",
        "service_name >= 'service-1'",
        "service_name IS DISTINCT FROM 'service-1'",
        "timestamp < TIMESTAMPTZ '9999-01-01'",
    ]


def test_a_filter_of_duckdb_answers_as_on_a_collected_table(
    metrics: SegmentWriter, opened: Open
) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        relation = opened().duckdb(connection)
        connection.register("collected", collected(opened()))
        connection.execute("CREATE TABLE own AS SELECT * FROM collected")
        for predicate in sql_predicates():
            expected = connection.sql(
                f"SELECT epoch_us(timestamp) FROM own WHERE {predicate} ORDER BY 1"  # noqa: S608
            ).fetchall()
            found = relation.filter(predicate).project("epoch_us(timestamp)").fetchall()
            assert sorted(found) == expected, predicate


def kql_predicates() -> list[str]:
    d, words = "value_double", ("==", "!=", "<", "<=", ">", ">=")
    constants = ("real(nan)", "1", "0.0", "-0.0", "100", "real(+inf)", "real(-inf)", "real(null)")
    compared = [f"{d} {word} {constant}" for word in words for constant in constants]
    return [
        *compared,
        *(f"not({condition})" for condition in compared),
        *(f"isnan({d})", f"not(isnan({d}))", f"isnull({d})", f"isfinite({d})", f"isinf({d})"),
        f"{d} in (1.0, 150.0)",
        f"{d} !in (1.0, 150.0)",
        f"{d} between (1 .. 100)",
        f"{d} !between (1 .. 100)",
        f"{d} > 100 or value_long == 2",
        f"{d} * 2 > 100",
        "service_name != 'service-1'",
        "value_long != 3",
    ]


def queries() -> list[str]:
    of_sql = [
        f"SELECT epoch_us(timestamp) FROM web WHERE {predicate} ORDER BY 1"  # noqa: S608
        for predicate in sql_predicates()
    ]
    of_kql = [
        f"web | where {predicate} | project timestamp | sort by timestamp asc"
        for predicate in kql_predicates()
    ]
    return [
        *of_sql,
        *of_kql,
        "SELECT max(value_double)::VARCHAR, min(value_double), count(value_double) FROM web",
        "SELECT value_double::VARCHAR FROM web ORDER BY value_double DESC NULLS LAST LIMIT 3",
        "SELECT count(*) FROM web a JOIN web b ON a.value_double = b.value_double",
        "web | summarize countif(isnan(value_double)), count()",
    ]


@pytest.mark.parametrize("texts", some_or_all(queries(), 7))
def test_a_query_answers_as_on_collected_rows(
    metrics: SegmentWriter, opened: Open, meta_server: MetaServer, texts: list[str]
) -> None:
    place = QueryPlace(meta_server.address)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("collected", collected(opened()))
        connection.execute('CREATE TABLE "web" AS SELECT * FROM collected')
        for text in texts:
            planned = plan(meta_server.client, text, None, TIME)
            expected = connection.sql(planned.sql).fetchall()
            with opened_query(planned, place, prepare=define_views(planned)) as query:
                table = query.reader().read_all()
            rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
            assert rows == expected, text
