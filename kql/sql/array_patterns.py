"""SQL patterns of arrays and bags, which are JSON texts, of DuckDB and Spark.

`@0` in them is the array of argument 0 as a list of JSON texts, null unless it is an array, and `#0` the
same as reals. Trino has no null-safe access to lists of JSON, so all are refused there by name.
"""

import re

_DUCKDB_LIST = (
    "LIST_TRANSFORM(CASE WHEN JSON_TYPE(<{0}>) = 'ARRAY' THEN"
    " CAST(CAST(<{0}> AS JSON) AS JSON[]) END, LAMBDA j: COALESCE(CAST(j AS VARCHAR), 'null'))"
)
_SPARK_LIST = (
    "TRANSFORM(CASE WHEN LEFT(LTRIM(<{0}>), 1) = '[' THEN"
    " TRY_CAST(TRY_PARSE_JSON(<{0}>) AS ARRAY<VARIANT>) END, j -> COALESCE(TO_JSON(j), 'null'))"
)
_LIST = re.compile(r"([@#])(\d)")


def duckdb_lists(pattern: str) -> str:
    """Return a pattern with its lists written out for DuckDB."""

    def part(match: re.Match[str]) -> str:
        texts = _DUCKDB_LIST.format(match[2])
        return (
            texts
            if match[1] == "@"
            else f"LIST_TRANSFORM({texts}, LAMBDA j: TRY_CAST(j AS DOUBLE))"
        )

    return _LIST.sub(part, pattern)


def spark_lists(pattern: str) -> str:
    """Return a pattern with its lists written out for Spark."""

    def part(match: re.Match[str]) -> str:
        texts = _SPARK_LIST.format(match[2])
        return texts if match[1] == "@" else f"TRANSFORM({texts}, j -> TRY_CAST(j AS DOUBLE))"

    return _LIST.sub(part, pattern)


def _let(pattern: str) -> str:
    """Return a pattern of DuckDB over the list l, which is argument 0's."""
    return f"LIST_TRANSFORM([@0], LAMBDA l: {pattern})[1]"


def _spark_let(pattern: str) -> str:
    return f"TRANSFORM(ARRAY(@0), l -> {pattern})[0]"


def array(texts: str) -> str:
    """Return a JSON array of a list of JSON texts in DuckDB."""
    return f"('[' || ARRAY_TO_STRING({texts}, ',') || ']')"


def spark_array(texts: str) -> str:
    """Return a JSON array of a list of JSON texts in Spark."""
    return f"CONCAT('[', ARRAY_JOIN({texts}, ','), ']')"


def first_keys(bag: str) -> str:
    """Return the keys of a bag in DuckDB, each of equal ones once, at its first place."""
    return (
        f"LIST_TRANSFORM([JSON_KEYS({bag})], LAMBDA l: CASE WHEN LEN(LIST_DISTINCT(l)) = LEN(l) THEN l"
        " ELSE LIST_FILTER(l, LAMBDA k, i: LIST_POSITION(l, k) = i) END)[1]"
    )


# Numbers before texts, each in their order, and nulls last.
_KEYS = "LIST_TRANSFORM(LIST_FILTER(l, LAMBDA e: e <> 'null'), LAMBDA e: STRUCT_PACK(k := TRY_CAST(e AS DOUBLE) IS NULL, n := COALESCE(TRY_CAST(e AS DOUBLE), 0E0), t := e))"
_SORTED = "LIST_CONCAT(LIST_TRANSFORM({0}, LAMBDA s: s.t), LIST_FILTER(l, LAMBDA e: e = 'null'))"
_SPARK_KEYS = "TRANSFORM(FILTER(l, e -> e <> 'null'), e -> NAMED_STRUCT('k', TRY_CAST(e AS DOUBLE) IS NULL, 'n', COALESCE(TRY_CAST(e AS DOUBLE), 0D), 't', e))"
_SPARK_SORTED = "CONCAT(TRANSFORM({0}, s -> s.t), FILTER(l, e -> e = 'null'))"
_FIRST = "CASE WHEN <1> < 0 THEN GREATEST(LEN(l) + <1>, 0) ELSE <1> END"
_LAST = "CASE WHEN <2> < 0 THEN LEN(l) + <2> ELSE LEAST(<2>, LEN(l) - 1) END"
_SPARK_FIRST = _FIRST.replace("LEN(", "SIZE(")
_SPARK_LAST = _LAST.replace("LEN(", "SIZE(")
# Keys and values of a bag as members of JSON.
_VALUE = "CAST(JSON_EXTRACT({0}, '/' || REPLACE(REPLACE(k, '~', '~0'), '/', '~1')) AS VARCHAR)"
_MEMBERS = "LIST_TRANSFORM({1}, LAMBDA k: CAST(TO_JSON(k) AS VARCHAR) || ':' || " + _VALUE + ")"
_IS_BAG = "JSON_TYPE(<0>) = 'OBJECT'"
_MAP = "TRY_CAST(TRY_PARSE_JSON(<{0}>) AS MAP<STRING, VARIANT>)"
_TRUE = "(e = 'true' OR COALESCE(TRY_CAST(e AS DOUBLE), 0E0) <> 0)"
_TEXT_OF = "COALESCE(CAST(e AS JSON) ->> '$', '')"
_SPARK_TEXT_OF = "COALESCE(GET_JSON_OBJECT(CONCAT('{\"v\":', e, '}'), '$.v'), '')"
# Lists of DuckDB take null as empty.
_ARE_ARRAYS = "CASE WHEN JSON_TYPE(<0>) = 'ARRAY' AND JSON_TYPE(<1>) = 'ARRAY' THEN "
_ARRAYS = {
    "array_concat": _ARE_ARRAYS + array("LIST_CONCAT(@0, @1)") + " END",
    "array_slice": _let(array(f"CASE WHEN {_LAST} < {_FIRST} THEN [] ELSE LIST_SLICE(l, {_FIRST} + 1, {_LAST} + 1) END")),
    "array_reverse": array("LIST_REVERSE(@0)"),
    "array_sum": "LIST_TRANSFORM([#0], LAMBDA l: CASE WHEN LEN(LIST_FILTER(l, LAMBDA e: e IS NULL)) = 0 THEN COALESCE(LIST_SUM(l), 0E0) END)[1]",
    "array_index_of": "(COALESCE(LIST_POSITION(@0, <1>), CASE WHEN JSON_TYPE(<0>) = 'ARRAY' THEN 0 END) - 1)",
    "array_index_of_number": "(COALESCE(LIST_POSITION(#0, <1>), CASE WHEN JSON_TYPE(<0>) = 'ARRAY' THEN 0 END) - 1)",
    "array_sort_asc": _let("CASE WHEN l IS NOT NULL THEN " + array(_SORTED.format(f"LIST_SORT({_KEYS})")) + " END"),
    "array_sort_desc": _let("CASE WHEN l IS NOT NULL THEN " + array(_SORTED.format(f"LIST_SORT({_KEYS}, 'DESC')")) + " END"),
    "array_iff": "LIST_TRANSFORM([STRUCT_PACK(c := @0, a := @1, b := @2)], LAMBDA l: " + array(
        f"LIST_TRANSFORM(l.c, LAMBDA e, i: CASE WHEN e = 'null' THEN 'null' WHEN {_TRUE}"
        " THEN COALESCE(CASE WHEN l.a IS NULL THEN <1> ELSE l.a[i] END, 'null')"
        " ELSE COALESCE(CASE WHEN l.b IS NULL THEN <2> ELSE l.b[i] END, 'null') END)"
    ) + ")[1]",
    "array_rotate": _let(array("LIST_TRANSFORM(l, LAMBDA e, i: l[((i - 1 + <1> % LEN(l)) + LEN(l)) % LEN(l) + 1])")),
    "array_shift": _let(array("LIST_TRANSFORM(l, LAMBDA e, i: CASE WHEN i + <1> BETWEEN 1 AND LEN(l) THEN l[i + <1>] ELSE <2> END)")),
    "array_repeat": "CASE WHEN LENGTH(<0>) * <1> <= 1048576 THEN " + array("LIST_TRANSFORM(RANGE(<1>), LAMBDA i: <0>)") + " END",
    "strcat_array": f"COALESCE(ARRAY_TO_STRING(LIST_TRANSFORM(@0, LAMBDA e: {_TEXT_OF}), <1>), '')",
    "set_union": _ARE_ARRAYS + array("LIST_SORT(LIST_DISTINCT(LIST_CONCAT(@0, @1)))") + " END",
    "set_intersect": _ARE_ARRAYS + array("LIST_SORT(LIST_INTERSECT(@0, @1))") + " END",
    "set_difference": _ARE_ARRAYS + "LIST_TRANSFORM([@1], LAMBDA l: " + array("LIST_SORT(LIST_FILTER(LIST_DISTINCT(@0), LAMBDA e: NOT LIST_CONTAINS(l, e)))") + ")[1] END",
    "bag_keys": f"CASE WHEN {_IS_BAG} THEN CAST(TO_JSON({first_keys('<0>')}) AS VARCHAR) END",
    "bag_has_key": f"COALESCE({_IS_BAG} AND LIST_CONTAINS(JSON_KEYS(<0>), <1>), FALSE)",
    "bag_merge": f"CASE WHEN {_IS_BAG} AND JSON_TYPE(<1>) = 'OBJECT' THEN '{{' || ARRAY_TO_STRING(LIST_CONCAT("
    + _MEMBERS.format("<0>", first_keys("<0>")) + ", "
    + _MEMBERS.format("<1>", f"LIST_TRANSFORM([JSON_KEYS(<0>)], LAMBDA l: LIST_FILTER({first_keys('<1>')}, LAMBDA k: NOT LIST_CONTAINS(l, k)))[1]")
    + f"), ',') || '}}' WHEN {_IS_BAG} THEN <0> WHEN JSON_TYPE(<1>) = 'OBJECT' THEN <1> END",
    "bag_remove_keys": f"CASE WHEN {_IS_BAG} THEN '{{' || ARRAY_TO_STRING("
    + _MEMBERS.format("<0>", f"LIST_TRANSFORM([LIST_TRANSFORM(@1, LAMBDA e: {_TEXT_OF})], LAMBDA l: LIST_FILTER({first_keys('<0>')}, LAMBDA k: NOT COALESCE(LIST_CONTAINS(l, k), FALSE)))[1]")
    + ", ',') || '}' END",
    "extract_all": "CAST(TO_JSON(REGEXP_EXTRACT_ALL(<1>, <0>, <2>)) AS VARCHAR)",
    # Rows of columns, each of which is read once.
    "transposed": "LIST_TRANSFORM([LIST_TRANSFORM([<*>], LAMBDA g: CAST(CAST(g AS JSON) AS JSON[]))], LAMBDA c: " + array(
        "LIST_TRANSFORM(RANGE(1, LEN(c[1]) + 1), LAMBDA i: "
        + array("LIST_TRANSFORM(c, LAMBDA g: CAST(g[i] AS VARCHAR))") + ")"
    ) + ")[1]",
    "parse_csv": "CAST(TO_JSON(LIST_TRANSFORM(REGEXP_EXTRACT_ALL(',' || REGEXP_EXTRACT(<0>, '(?s)^(?:[^\"\n]|\"[^\"]*\")*'),"
    " '(?s),(\"(?:[^\"]|\"\")*\"|[^,]*)', 1), LAMBDA e: CASE WHEN STARTS_WITH(e, '\"') THEN"
    " REPLACE(SUBSTRING(e, 2, LENGTH(e) - 2), '\"\"', '\"') ELSE e END)) AS VARCHAR)",
    "query_parameters": "('{' || ARRAY_TO_STRING(LIST_TRANSFORM(LIST_FILTER(STRING_SPLIT(<0>, '&'), LAMBDA p: p <> ''),"
    " LAMBDA p: CAST(TO_JSON(SPLIT_PART(p, '=', 1)) AS VARCHAR) || ':' ||"
    " CAST(TO_JSON(CASE WHEN CONTAINS(p, '=') THEN SUBSTRING(p, STRPOS(p, '=') + 1) ELSE '' END) AS VARCHAR)), ',') || '}')",
    "string_to_json": "CAST(TO_JSON(COALESCE(<0>, '')) AS VARCHAR)",
    "bool_to_json": "COALESCE(CAST(<0> AS VARCHAR), 'null')",
    "long_to_json": "COALESCE(CAST(<0> AS VARCHAR), 'null')",
    "real_to_json": "CASE WHEN <0> IS NULL THEN 'null' WHEN ISFINITE(<0>) THEN CAST(<0> AS VARCHAR)"
    " WHEN ISNAN(<0>) THEN '\"NaN\"' WHEN <0> > 0 THEN '\"Infinity\"' ELSE '\"-Infinity\"' END",
    "dynamic_to_json": "COALESCE(<0>, 'null')",
    "quoted_json": "COALESCE('\"' || <0> || '\"', 'null')",
}  # fmt: skip
DUCKDB = {name: duckdb_lists(pattern) for name, pattern in _ARRAYS.items()}
_QUOTED = "SUBSTRING(TO_JSON(ARRAY({0})), 2, LENGTH(TO_JSON(ARRAY({0}))) - 2)"
_SPARK_ARRAYS = {
    "array_concat": spark_array("CONCAT(@0, @1)"),
    "array_slice": _spark_let(spark_array(
        f"CASE WHEN {_SPARK_LAST} < {_SPARK_FIRST} THEN SLICE(l, 1, 0) ELSE SLICE(l, CAST({_SPARK_FIRST} + 1 AS INT), CAST({_SPARK_LAST} - {_SPARK_FIRST} + 1 AS INT)) END")),
    "array_reverse": spark_array("REVERSE(@0)"),
    "array_sum": "AGGREGATE(#0, 0D, (a, e) -> a + e)",
    "array_index_of": "(ARRAY_POSITION(@0, <1>) - 1)",
    "array_index_of_number": "(ARRAY_POSITION(TRANSFORM(#0, e -> COALESCE(e, DOUBLE('NaN'))), <1>) - 1)",
    "array_sort_asc": _spark_let(spark_array(_SPARK_SORTED.format(f"SORT_ARRAY({_SPARK_KEYS})"))),
    "array_sort_desc": _spark_let(spark_array(_SPARK_SORTED.format(f"SORT_ARRAY({_SPARK_KEYS}, FALSE)"))),
    "array_iff": "TRANSFORM(ARRAY(NAMED_STRUCT('c', @0, 'a', @1, 'b', @2)), l -> " + spark_array(
        f"TRANSFORM(l.c, (e, i) -> CASE WHEN e = 'null' THEN 'null' WHEN {_TRUE}"
        " THEN COALESCE(CASE WHEN l.a IS NULL THEN <1> ELSE GET(l.a, i) END, 'null')"
        " ELSE COALESCE(CASE WHEN l.b IS NULL THEN <2> ELSE GET(l.b, i) END, 'null') END)"
    ) + ")[0]",
    "array_rotate": _spark_let(spark_array("TRANSFORM(l, (e, i) -> GET(l, CAST(PMOD(i + <1> % SIZE(l), SIZE(l)) AS INT)))")),
    "array_shift": _spark_let(spark_array("TRANSFORM(l, (e, i) -> CASE WHEN i + <1> BETWEEN 0 AND SIZE(l) - 1 THEN GET(l, CAST(i + <1> AS INT)) ELSE <2> END)")),
    "array_repeat": "CASE WHEN LENGTH(<0>) * <1> <= 1048576 THEN " + spark_array("ARRAY_REPEAT(<0>, CAST(<1> AS INT))") + " END",
    "strcat_array": f"COALESCE(ARRAY_JOIN(TRANSFORM(@0, e -> {_SPARK_TEXT_OF}), <1>), '')",
    "set_union": spark_array("SORT_ARRAY(ARRAY_UNION(@0, @1))"),
    "set_intersect": spark_array("SORT_ARRAY(ARRAY_INTERSECT(@0, @1))"),
    "set_difference": spark_array("SORT_ARRAY(ARRAY_EXCEPT(@0, @1))"),
    "bag_keys": "TO_JSON(ARRAY_DISTINCT(JSON_OBJECT_KEYS(<0>)))",
    "bag_has_key": "COALESCE(ARRAY_CONTAINS(JSON_OBJECT_KEYS(<0>), <1>), FALSE)",
    "bag_merge": f"COALESCE(TO_JSON(MAP_CONCAT({_MAP.format(0)}, MAP_FILTER({_MAP.format(1)}, (k, v) -> NOT MAP_CONTAINS_KEY({_MAP.format(0)}, k)))),"
    f" TO_JSON({_MAP.format(0)}), TO_JSON({_MAP.format(1)}))",
    "bag_remove_keys": f"TO_JSON(MAP_FILTER({_MAP.format(0)}, (k, v) -> NOT COALESCE(ARRAY_CONTAINS(TRANSFORM(@1, e -> {_SPARK_TEXT_OF}), k), FALSE)))",
    "extract_all": "TO_JSON(REGEXP_EXTRACT_ALL(<1>, <0>, CAST(<2> AS INT)))",
    "transposed": "TRANSFORM(ARRAY(TRANSFORM(ARRAY(<*>), g -> TRY_CAST(TRY_PARSE_JSON(g) AS ARRAY<VARIANT>))), c -> " + spark_array(
        "TRANSFORM(c[0], (e, i) -> " + spark_array("TRANSFORM(c, g -> TO_JSON(GET(g, i)))") + ")"
    ) + ")[0]",
    "parse_csv": "TO_JSON(TRANSFORM(REGEXP_EXTRACT_ALL(CONCAT(',', REGEXP_EXTRACT(<0>, '(?s)^(?:[^\"\n]|\"[^\"]*\")*', 0)),"
    " '(?s),(\"(?:[^\"]|\"\")*\"|[^,]*)', 1), e -> CASE WHEN STARTSWITH(e, '\"') THEN"
    " REPLACE(SUBSTRING(e, 2, LENGTH(e) - 2), '\"\"', '\"') ELSE e END))",
    "query_parameters": "CONCAT('{', ARRAY_JOIN(TRANSFORM(FILTER(SPLIT(<0>, '&'), p -> p <> ''),"
    f" p -> CONCAT({_QUOTED.format('SUBSTRING_INDEX(p, ' + repr('=') + ', 1)')}, ':',"
    f" {_QUOTED.format('CASE WHEN INSTR(p, ' + repr('=') + ') > 0 THEN SUBSTRING(p, INSTR(p, ' + repr('=') + ') + 1) ELSE ' + repr('') + ' END')})), ','), '}}')",
    "string_to_json": _QUOTED.format("COALESCE(<0>, '')"),
    "bool_to_json": "COALESCE(CAST(<0> AS STRING), 'null')",
    "long_to_json": "COALESCE(CAST(<0> AS STRING), 'null')",
    "real_to_json": "CASE WHEN <0> IS NULL THEN 'null' WHEN ISNAN(<0>) THEN '\"NaN\"' WHEN <0> = DOUBLE('Infinity') THEN '\"Infinity\"'"
    " WHEN <0> = DOUBLE('-Infinity') THEN '\"-Infinity\"' ELSE CAST(<0> AS STRING) END",
    "dynamic_to_json": "COALESCE(<0>, 'null')",
    "quoted_json": "COALESCE(CONCAT('\"', <0>, '\"'), 'null')",
}  # fmt: skip
SPARK = {name: spark_lists(pattern) for name, pattern in _SPARK_ARRAYS.items()}
SPARK["query_parameters"] = SPARK["query_parameters"].replace("'}}'", "'}'")
