"""SQL patterns of Spark 4, with or without ANSI mode and in any session time zone."""

from kql.types import DATETIME_MAX, DATETIME_MIN

# Times beyond the years 1 to 9999 are null.
_MOVED = (
    f"CASE WHEN {{0}} BETWEEN {DATETIME_MIN} AND {DATETIME_MAX} THEN TIMESTAMP_MICROS({{0}}) END"
)
_FROM_YEAR_1 = "(UNIX_MICROS(<0>) + 62135596800000000)"
# Days are counted by dates, which have no time zone.
_DATE = "DATE_ADD(DATE '1970-01-01', CAST((UNIX_MICROS(<0>) - PMOD(UNIX_MICROS(<0>), 86400000000)) DIV 86400000000 AS INT))"
_MICROS = "PMOD(UNIX_MICROS(<0>), 86400000000)"
_START = "TIMESTAMP_MICROS(UNIX_DATE(TRUNC({1}, '{0}')) * 86400000000L)"
_ZONED = "REGEXP_REPLACE(<0>, '([.][0-9]{6})[0-9]+', '$1')"
# Behind a wildcard texts keep their quotes; numbers beyond a real's range are quoted as infinite.
_INFINITE = """'"Infinity"', '"-Infinity"'"""
_QUOTED_MEMBER = "GET_JSON_OBJECT(CONCAT('[', <0>, ']'), CONCAT('$[*]', SUBSTRING(<1>, 2)))"
_KEY = "TO_JSON(ARRAY(e.key))"
_PROPERTIES = (
    "TRANSFORM(MAP_ENTRIES(TRY_CAST(TRY_PARSE_JSON(<0>) AS MAP<STRING, VARIANT>)), e -> CONCAT('{',"
    f" SUBSTRING({_KEY}, 2, LENGTH({_KEY}) - 2), ':', COALESCE(TO_JSON(e.value), 'null'), '}}'))"
)
_VARIANTS = "TRY_CAST(TRY_PARSE_JSON(<0>) AS ARRAY<VARIANT>)"
# A key that is NaN is chosen only where no other is there.
_EXTREME_REAL = (
    "COALESCE({0}(NAMED_STRUCT('v', <0>), CASE WHEN NOT ISNAN(<1>) THEN <1> END),"
    " {0}(NAMED_STRUCT('v', <0>), <1>)).v"
)

PATTERNS = {
    "any_order": "MONOTONICALLY_INCREASING_ID()",
    "add": "TRY_ADD(<0>, <1>)",
    "subtract": "TRY_SUBTRACT(<0>, <1>)",
    "multiply": "TRY_MULTIPLY(<0>, <1>)",
    "negate": "TRY_SUBTRACT(0, <0>)",
    "abs": "CASE WHEN <0> >= 0 THEN <0> ELSE TRY_SUBTRACT(0, <0>) END",
    # Division by zero is an error or null in Spark; the sign of a zero is that of its angle.
    "divide_real": "CASE WHEN <1> = 0E0 THEN <0> * CASE WHEN ATAN2(<1>, -1E0) < 0 THEN DOUBLE('-Infinity') ELSE DOUBLE('Infinity') END ELSE <0> / <1> END",
    "divide_timespans": "CASE WHEN <1> = 0 THEN CAST(<0> AS DOUBLE) * DOUBLE('Infinity') ELSE CAST(<0> AS DOUBLE) / CAST(<1> AS DOUBLE) END",
    "divide": "CASE WHEN <1> = -1 THEN TRY_SUBTRACT(0, <0>) ELSE <0> DIV NULLIF(<1>, 0) END",
    "multiply_timespan": "TRY_CAST(<0> * <1> AS BIGINT)",
    "divide_timespan": "TRY_CAST(<0> / NULLIF(<1>, 0E0) AS BIGINT)",
    "add_datetime": _MOVED.format("UNIX_MICROS(<0>) + (<1> - PMOD(<1>, 1000)) DIV 1000"),
    "subtract_datetime": _MOVED.format("UNIX_MICROS(<0>) - (<1> + PMOD(-<1>, 1000)) DIV 1000"),
    "subtract_datetimes": "TRY_MULTIPLY(UNIX_MICROS(<0>) - UNIX_MICROS(<1>), 1000L)",
    # A width that is not above zero gives null.
    "bin_whole": "CASE WHEN <1> > 0 THEN TRY_SUBTRACT(<0>, PMOD(<0>, NULLIF(<1>, 0))) END",
    # FLOOR gives a long, which neither large reals nor NaN are.
    "bin_real": "CASE WHEN <1> > 0 THEN CASE WHEN ABS(<0> / <1>) < 9E15 THEN FLOOR(<0> / <1>) * <1> ELSE <0> / <1> * <1> END END",
    "bin_datetime": f"TIMESTAMP_MICROS(UNIX_MICROS(<0>) - {_FROM_YEAR_1} % (<1> DIV 1000))",
    "startofday": f"TIMESTAMP_MICROS(UNIX_MICROS(<0>) - {_MICROS})",
    "startofweek": _MOVED.format(f"UNIX_MICROS(<0>) - ({_FROM_YEAR_1} + 86400000000) % 604800000000"),
    "startofmonth": _START.format("MM", _DATE),
    "startofyear": _START.format("YEAR", _DATE),
    "unit_number": f"({_FROM_YEAR_1} DIV <1>)",
    "year_number": f"YEAR({_DATE})",
    "quarter_number": f"(YEAR({_DATE}) * 4 + QUARTER({_DATE}))",
    "month_number": f"(YEAR({_DATE}) * 12 + MONTH({_DATE}))",
    "round": "ROUND(<0>, <1>)",
    "isnan": "ISNAN(<0>)",
    "real_to_int": "TRY_CAST(<0> AS INT)",
    "real_to_long": "TRY_CAST(<0> AS BIGINT)",
    "real_to_string": "CASE WHEN ABS(<0>) < 1E15 AND <0> = FLOOR(<0>)"
    " THEN CAST(CAST(<0> AS BIGINT) AS STRING) ELSE CAST(<0> AS STRING) END",
    "datetime_to_string": f"CONCAT(CAST({_DATE} AS STRING), 'T',"
    f" LPAD(CAST({_MICROS} DIV 3600000000 AS STRING), 2, '0'), ':',"
    f" LPAD(CAST({_MICROS} DIV 60000000 % 60 AS STRING), 2, '0'), ':',"
    f" LPAD(CAST({_MICROS} DIV 1000000 % 60 AS STRING), 2, '0'), '.',"
    f" LPAD(CAST({_MICROS} % 1000000 AS STRING), 6, '0'), '0Z')",
    "dynamic_to_string": "GET_JSON_OBJECT(CONCAT('{\"v\":', <0>, '}'), '$.v')",
    "dynamic_is_number": "COALESCE(<0> RLIKE '^ *-?[0-9]', FALSE)",
    "string_to_int": "CASE WHEN <0> RLIKE <1> THEN TRY_CAST(SUBSTRING_INDEX(<0>, '.', 1) AS INT) END",
    "whole_to_int": "TRY_CAST(SUBSTRING_INDEX(<0>, '.', 1) AS INT)",
    "string_to_long": "CASE WHEN <0> RLIKE <1> THEN TRY_CAST(SUBSTRING_INDEX(<0>, '.', 1) AS BIGINT) END",
    "whole_to_long": "TRY_CAST(SUBSTRING_INDEX(<0>, '.', 1) AS BIGINT)",
    "string_to_real": f"CASE WHEN <0> RLIKE <1> OR <0> IN ({_INFINITE}) THEN TRY_CAST(REPLACE(<0>, '\"', '') AS DOUBLE) END",
    "number_to_real": "TRY_CAST(REPLACE(<0>, '\"', '') AS DOUBLE)",
    "string_to_guid": "CASE WHEN <0> RLIKE <1> THEN LOWER(<0>) END",
    "string_to_datetime": "CASE WHEN NOT <0> RLIKE <1> THEN NULL"
    " WHEN NOT <0> RLIKE <2> THEN TRY_CAST(CONCAT(<0>, ' 00:00:00+00:00') AS TIMESTAMP)"
    f" WHEN <0> RLIKE <3> THEN TRY_CAST(UPPER({_ZONED}) AS TIMESTAMP)"
    f" ELSE TRY_CAST(CONCAT(UPPER({_ZONED}), '+00:00') AS TIMESTAMP) END",
    "member_text": "GET_JSON_OBJECT(<0>, <1>)",
    "member_is_number": f"COALESCE({_QUOTED_MEMBER} RLIKE '^-?[0-9]' OR GET_JSON_OBJECT(<0>, <1>) IN ({_INFINITE}), FALSE)",
    "member_is_present": "(TRY_VARIANT_GET(TRY_PARSE_JSON(<0>), <1>, 'variant') IS NOT NULL)",
    "member": "TO_JSON(TRY_VARIANT_GET(TRY_PARSE_JSON(<0>), <1>, 'variant'))",
    "parse_json": "CASE WHEN TRY_PARSE_JSON(<0>) IS NOT NULL THEN <0>"
    " WHEN <0> IS NOT NULL THEN SUBSTRING(TO_JSON(ARRAY(<0>)), 2, LENGTH(TO_JSON(ARRAY(<0>))) - 2) END",
    "array_length": "CAST(JSON_ARRAY_LENGTH(<0>) AS BIGINT)",
    "elements": f"EXPLODE_OUTER(COALESCE(TRANSFORM({_VARIANTS}, v -> TO_JSON(v)), {_PROPERTIES}))",
    "stored_list": "TO_JSON(<0>)",
    "split": "TO_JSON(SPLIT(COALESCE(<0>, ''), <2>, -1))",
    # Java makes two characters of the first one, and a sign of its own of a sigma at an end.
    "tolower": "LOWER(TRANSLATE(<0>, 'İΣ', 'iσ'))",
    "contains": "CONTAINS(<0>, <1>)",
    "startswith": "STARTSWITH(<0>, <1>)",
    "endswith": "ENDSWITH(<0>, <1>)",
    "match": "(<0> RLIKE <1>)",
    "term": "(<0> RLIKE <1>)",
    "term_cs": "(<0> RLIKE <1>)",
    "replace_regex": "REGEXP_REPLACE(<0>, <1>, <2>)",
    "sum": "COALESCE(TRY_SUM(CAST(<0> AS BIGINT)), CASE WHEN COUNT(<0>) = 0 THEN 0L END)",
    "avg_timespan": "CAST(AVG(<0>) AS BIGINT)",
    "percentile": "PERCENTILE_DISC(<1>) WITHIN GROUP (ORDER BY <0>)",
    "percentile_real": "COALESCE(PERCENTILE_DISC(<1>) WITHIN GROUP (ORDER BY CASE WHEN NOT ISNAN(<0>) THEN <0> END), MAX(<0>))",
    # Some value that is not null, as in DuckDB.
    "take_any": "ANY_VALUE(<0>, TRUE)",
    "arg_max": "MAX_BY(<0>, <1>)",
    "arg_min": "MIN_BY(<0>, <1>)",
    "arg_max_real": _EXTREME_REAL.format("MAX_BY"),
    "arg_min_real": _EXTREME_REAL.format("MIN_BY"),
    "make_series": "TO_JSON(TRANSFORM(ARRAY_SORT(COLLECT_LIST(NAMED_STRUCT('t', <1>, 'v', <0>))), p -> p.v))",
    "make_list": "TO_JSON(COLLECT_LIST(<0>))",
    "make_set": "TO_JSON(SORT_ARRAY(COLLECT_SET(<0>)))",
    "make_list_dynamic": "CONCAT('[', ARRAY_JOIN(COLLECT_LIST(<0>), ','), ']')",
    "make_set_dynamic": "CONCAT('[', ARRAY_JOIN(SORT_ARRAY(COLLECT_SET(<0>)), ','), ']')",
}  # fmt: skip
