"""SQL patterns of series, which are JSON arrays of numbers, and of bags merged, of DuckDB and Spark."""

from kql.sql.array_patterns import array, duckdb_lists, spark_array, spark_lists

# Longer series are null if filling looks back or ahead for each element.
FILLED_MAX = 10_000
_OF_PAIRS = {
    "series_add": "{a} + {b}",
    "series_subtract": "{a} - {b}",
    "series_multiply": "{a} * {b}",
    "series_divide": "CASE WHEN {b} <> 0 THEN {a} / {b} WHEN {a} = 0 OR ISNAN({a}) THEN CAST('NaN' AS DOUBLE)"
    " WHEN {a} > 0 THEN CAST('Infinity' AS DOUBLE) WHEN {a} < 0 THEN CAST('-Infinity' AS DOUBLE) END",
    "series_pow": "POWER({a}, {b})",
}
_COMPARED = {
    "series_greater": ">",
    "series_greater_equals": ">=",
    "series_less": "<",
    "series_less_equals": "<=",
    "series_equals": "=",
    "series_not_equals": "<>",
}
_FINITE = "CASE WHEN x - x = 0 THEN x END"
_OF_EACH = {
    "series_abs": "ABS(x)",
    "series_sign": "CASE WHEN x > 0 THEN 1E0 WHEN x < 0 THEN -1E0 WHEN x = 0 THEN 0E0 END",
    "series_floor": "CASE WHEN ABS(x) < 9E15 THEN CAST(FLOOR(x) AS DOUBLE) ELSE x END",
    "series_ceiling": "CASE WHEN ABS(x) < 9E15 THEN CAST(CEIL(x) AS DOUBLE) ELSE x END",
    "series_exp": "EXP(x)",
    "series_log": "CASE WHEN x > 0 THEN LN(x) END",
    "series_sin": f"SIN({_FINITE})",
    "series_cos": f"COS({_FINITE})",
    "series_tan": f"TAN({_FINITE})",
}
_SHOWN = (
    "CASE WHEN x IS NULL THEN 'null' WHEN ISNAN(x) THEN '\"NaN\"' WHEN x = CAST('Infinity' AS DOUBLE)"
    " THEN '\"Infinity\"' WHEN x = CAST('-Infinity' AS DOUBLE) THEN '\"-Infinity\"' ELSE CAST(x AS {0}) END"
)


def _numbers(values: str) -> str:
    """Return a JSON array of a list of reals in DuckDB."""
    return array(f"LIST_TRANSFORM({values}, LAMBDA x: {_SHOWN.format('VARCHAR')})")


def _spark_numbers(values: str) -> str:
    return spark_array(f"TRANSFORM({values}, x -> {_SHOWN.format('STRING')})")


def _pairs(body: str) -> str:
    """Return an expression of both elements at each place, up to the longer series' end."""
    both = body.format(a="l.a[i]", b="l.b[i]")
    # Null if one of them is not a series.
    places = (
        "CASE WHEN LEN(l.a) + LEN(l.b) >= 0 THEN RANGE(1, GREATEST(LEN(l.a), LEN(l.b)) + 1) END"
    )
    return f"LIST_TRANSFORM({places}, LAMBDA i: {both})"


def _spark_pairs(body: str) -> str:
    return f"ZIP_WITH(l.a, l.b, (a, b) -> {body.format(a='a', b='b')})"


_BOTH = "LIST_TRANSFORM([STRUCT_PACK(a := #0, b := #1)], LAMBDA l: {0})[1]"
_SPARK_BOTH = "TRANSFORM(ARRAY(NAMED_STRUCT('a', #0, 'b', #1)), l -> {0})[0]"
_LET = "LIST_TRANSFORM([{1}], LAMBDA l: {0})[1]"
_SPARK_LET = "TRANSFORM(ARRAY({1}), l -> {0})[0]"
_TRUTH = "COALESCE(CAST({{a}} {0} {{b}} AS {1}), 'null')"
# s has an element e, its place i, and the next known places p before and q behind it.
_LINEAR = (
    "CASE WHEN s.e <> 'null' THEN s.e WHEN s.p IS NULL AND s.q IS NULL THEN '0.0'"
    " WHEN s.p IS NULL THEN {q} WHEN s.q IS NULL THEN {p} ELSE CAST(CAST({p} AS DOUBLE)"
    " + (CAST({q} AS DOUBLE) - CAST({p} AS DOUBLE)) * (s.i - s.p) / (s.q - s.p) AS {text}) END"
)
_SHORT = f"CASE WHEN LEN(l) <= {FILLED_MAX} THEN {{0}} END"
_SPARK_SHORT = f"CASE WHEN SIZE(l) <= {FILLED_MAX} THEN {{0}} END"


def _fill(value: str) -> str:
    filled = array(f"LIST_TRANSFORM(l, LAMBDA e, i: CASE WHEN e <> 'null' THEN e ELSE {value} END)")
    return _LET.format(_SHORT.format(filled), "@0")


def _spark_fill(value: str) -> str:
    filled = spark_array(f"TRANSFORM(l, (e, i) -> CASE WHEN e <> 'null' THEN e ELSE {value} END)")
    return _SPARK_LET.format(_SPARK_SHORT.format(filled), "@0")


_STATISTICS = ("min", "min_idx", "max", "max_idx", "avg", "stdev", "variance", "sum", "len")


def _statistics(values: tuple[str, ...], text: str) -> str:
    members = (
        f"'\"{name}\":', COALESCE(CAST({value} AS {text}), 'null')"
        for name, value in zip(_STATISTICS, values, strict=True)
    )
    return "CONCAT('{', " + ", ',', ".join(members) + ", '}')"


_DUCKDB_STATISTICS = (
    *("LIST_MIN(l)", "LIST_POSITION(l, LIST_MIN(l)) - 1", "LIST_MAX(l)"),
    *("LIST_POSITION(l, LIST_MAX(l)) - 1", "LIST_AVG(l)", "LIST_STDDEV_SAMP(l)"),
    *("LIST_VAR_SAMP(l)", "LIST_SUM(l)", "LEN(l)"),
)
_MEAN = "(AGGREGATE(l, 0D, (s, x) -> s + x) / NULLIF(SIZE(l), 0))"
_VARIANCE = f"(AGGREGATE(TRANSFORM(l, x -> POWER(x - {_MEAN}, 2)), 0D, (s, x) -> s + x) / NULLIF(SIZE(l) - 1, 0))"
_SPARK_STATISTICS = (
    *("ARRAY_MIN(l)", "ARRAY_POSITION(l, ARRAY_MIN(l)) - 1", "ARRAY_MAX(l)"),
    *("ARRAY_POSITION(l, ARRAY_MAX(l)) - 1", _MEAN, f"SQRT({_VARIANCE})", _VARIANCE),
    *("AGGREGATE(l, 0D, (s, x) -> s + x)", "SIZE(l)"),
)
_ALL = "CASE WHEN LEN(LIST_FILTER(l, LAMBDA e: e IS NULL)) = 0 THEN {0} END"
_MEMBER = "CAST(JSON_EXTRACT(b, '/' || REPLACE(REPLACE(k, '~', '~0'), '/', '~1')) AS VARCHAR)"
_LISTED = "LIST({0}<0>) FILTER (WHERE <0> IS NOT NULL)"
_DUCKDB = {
    # TO_JSON writes NaN and the infinities bare, which is not JSON.
    "make_series_real": _numbers("LIST(<0> ORDER BY <1>)"),
    "make_list_real": "COALESCE(" + _numbers(_LISTED.format("")) + ", '[]')",
    "make_set_real": "COALESCE(" + _numbers(f"LIST_SORT({_LISTED.format('DISTINCT ')})") + ", '[]')",
    **{name: _BOTH.format(_numbers(_pairs(body))) for name, body in _OF_PAIRS.items()},
    **{
        name: _BOTH.format(array(_pairs(_TRUTH.format(sign, "VARCHAR"))))
        for name, sign in _COMPARED.items()
    },
    **{
        name: _numbers(f"LIST_TRANSFORM(#0, LAMBDA x: {body})") for name, body in _OF_EACH.items()
    },
    "series_like": array("LIST_TRANSFORM(@0, LAMBDA e: <1>)"),
    "series_product": _LET.format(_ALL.format("LIST_PRODUCT(l)"), "#0"),
    "series_fill_const": _fill("<1>"),
    "series_fill_forward": _fill("COALESCE(LIST_FILTER(l[1:i], LAMBDA f: f <> 'null')[-1], 'null')"),
    "series_fill_backward": _fill("COALESCE(LIST_FILTER(l[i:], LAMBDA f: f <> 'null')[1], 'null')"),
    "series_fill_linear": _LET.format(_SHORT.format(array(
        "LIST_TRANSFORM(LIST_TRANSFORM(l, LAMBDA e, i: STRUCT_PACK(e := e, i := i,"
        " p := LIST_MAX(LIST_FILTER(RANGE(1, i + 1), LAMBDA j: l[j] <> 'null')),"
        " q := LIST_MIN(LIST_FILTER(RANGE(i, LEN(l) + 1), LAMBDA j: l[j] <> 'null')))), LAMBDA s: "
        + _LINEAR.format(p="l[s.p]", q="l[s.q]", text="VARCHAR") + ")")), "@0"),
    "series_stats_dynamic": _LET.format(_statistics(_DUCKDB_STATISTICS, "VARCHAR"), "#0"),
    # Members in the order of their keys; of equal ones the first.
    "merged_bags": "LIST_TRANSFORM([LIST_SORT(FLATTEN(LIST_TRANSFORM(@0, LAMBDA b: CASE WHEN JSON_TYPE(b) = 'OBJECT' THEN"
    f" LIST_TRANSFORM(JSON_KEYS(b), LAMBDA k: STRUCT_PACK(k := k, v := {_MEMBER})) ELSE [] END)))], LAMBDA s: '{{' ||"
    " ARRAY_TO_STRING(LIST_TRANSFORM(LIST_FILTER(s, LAMBDA e, i: i = 1 OR s[i - 1].k <> e.k), LAMBDA e:"
    " CAST(TO_JSON(e.k) AS VARCHAR) || ':' || e.v), ',') || '}')[1]",
}  # fmt: skip
DUCKDB = {name: duckdb_lists(pattern) for name, pattern in _DUCKDB.items()}
_QUOTED = "SUBSTRING(TO_JSON(ARRAY(e.k)), 2, LENGTH(TO_JSON(ARRAY(e.k))) - 2)"
_SPARK = {
    **{name: _SPARK_BOTH.format(_spark_numbers(_spark_pairs(body))) for name, body in _OF_PAIRS.items()},
    **{
        name: _SPARK_BOTH.format(spark_array(_spark_pairs(_TRUTH.format(sign, "STRING"))))
        for name, sign in _COMPARED.items()
    },
    **{name: _spark_numbers(f"TRANSFORM(#0, x -> {body})") for name, body in _OF_EACH.items()},
    "series_like": spark_array("TRANSFORM(@0, e -> <1>)"),
    "series_product": "AGGREGATE(#0, 1D, (s, x) -> s * x)",
    "series_fill_const": _spark_fill("<1>"),
    "series_fill_forward": _spark_fill("COALESCE(TRY_ELEMENT_AT(FILTER(SLICE(l, 1, i + 1), f -> f <> 'null'), -1), 'null')"),
    "series_fill_backward": _spark_fill("COALESCE(GET(FILTER(SLICE(l, i + 1, SIZE(l)), f -> f <> 'null'), 0), 'null')"),
    "series_fill_linear": _SPARK_LET.format(_SPARK_SHORT.format(spark_array(
        "TRANSFORM(TRANSFORM(l, (e, i) -> NAMED_STRUCT('e', e, 'i', i + 1,"
        " 'p', ARRAY_MAX(TRANSFORM(SLICE(l, 1, i + 1), (f, j) -> CASE WHEN f <> 'null' THEN j + 1 END)),"
        " 'q', ARRAY_MIN(TRANSFORM(SLICE(l, i + 1, SIZE(l)), (f, j) -> CASE WHEN f <> 'null' THEN i + j + 1 END)))), s -> "
        + _LINEAR.format(p="GET(l, s.p - 1)", q="GET(l, s.q - 1)", text="STRING") + ")")), "@0"),
    "series_stats_dynamic": _SPARK_LET.format(_statistics(_SPARK_STATISTICS, "STRING"), "#0"),
    "merged_bags": "TRANSFORM(ARRAY(ARRAY_SORT(FLATTEN(TRANSFORM(@0, b -> COALESCE(TRANSFORM(MAP_ENTRIES(TRY_CAST(TRY_PARSE_JSON(b)"
    " AS MAP<STRING, VARIANT>)), m -> NAMED_STRUCT('k', m.key, 'v', COALESCE(TO_JSON(m.value), 'null'))), ARRAY()))))), s ->"
    " CONCAT('{', ARRAY_JOIN(TRANSFORM(FILTER(s, (e, i) -> i = 0 OR GET(s, i - 1).k <> e.k), e ->"
    f" CONCAT({_QUOTED}, ':', e.v)), ','), '}}'))[0]",
}  # fmt: skip
SPARK = {name: spark_lists(pattern) for name, pattern in _SPARK.items()}
