"""SQL patterns of Trino. It has approximate percentiles only, so `percentile` is missing."""

from kql.types import DATETIME_MAX, DATETIME_MIN

_MICROS = "CAST(ROUND(TO_UNIXTIME({0}) * 1E6) AS BIGINT)"
_US = _MICROS.format("<0>")
# Nanoseconds after the year 2262 do not fit a BIGINT.
_FROM_MICROS = (
    "CAST(FROM_UNIXTIME_NANOS(CAST({0} AS DECIMAL(38, 0)) * 1000) AS TIMESTAMP(6) WITH TIME ZONE)"
)
# Times beyond the years 1 to 9999 are null.
_MOVED = f"CASE WHEN {{0}} BETWEEN {DATETIME_MIN} AND {DATETIME_MAX} THEN {_FROM_MICROS} END"
_FROM_YEAR_1 = f"({_US} + 62135596800000000)"
_START = "WITH_TIMEZONE(CAST(DATE_TRUNC('{0}', <0> AT TIME ZONE 'UTC') AS TIMESTAMP(6)), 'UTC')"
# Digits behind microseconds would be rounded.
_ZONED = "REGEXP_REPLACE(REPLACE(UPPER(<0>), ' ', 'T'), '([.][0-9]{6})[0-9]+', '$1')"
_TEXT = "CAST(TRY(FROM_ISO8601_TIMESTAMP_NANOS({0})) AS TIMESTAMP(6) WITH TIME ZONE)"
_OF_DATE = _TEXT.format("<0> || 'T00:00:00Z'")
_OF_ZONED, _OF_UTC = _TEXT.format(_ZONED), _TEXT.format(f"{_ZONED} || 'Z'")
# A key that is NaN is chosen only where no other is there.
_EXTREME_REAL = (
    "COALESCE({0}(ROW(<0>), CASE WHEN NOT IS_NAN(<1>) THEN <1> END), {0}(ROW(<0>), <1>))[1]"
)

# Patterns of DuckDB that Trino has too, by its own names of functions and types.
LIKE_DUCKDB = (
    *("acos", "add", "abs", "asin", "atan", "atan2", "avg_timespan", "bin_whole"),
    *("ceiling", "cos", "cot", "degrees", "divide", "exp2", "exp10", "ipv4_prefix", "isfinite"),
    *("isinf", "match", "member_is_present", "month_number", "multiply", "negate"),
    *("number_to_real", "pad_zeros", "pi", "position", "quarter_number", "radians", "real_to_int"),
    *("real_to_long", "real_to_string", "replace_plain", "sign", "sin", "startswith"),
    *("string_to_guid", "string_to_int", "string_to_long", "string_to_real", "subtract", "tan"),
    *("timespan_part", "translate", "whole_to_int", "whole_to_long", "year_number"),
)
WORDS = {
    "ISNAN(": "IS_NAN(", "REGEXP_MATCHES(": "REGEXP_LIKE(", "TRUNC(": "TRUNCATE(",
    " AS INT)": " AS INTEGER)", "//": "/",
}  # fmt: skip
PATTERNS = {
    "eq_real": "(<0> = <1>)",
    "lt_real": "(<0> < <1>)",
    "le_real": "(<0> <= <1>)",
    "gt_real": "(<0> > <1>)",
    "ge_real": "(<0> >= <1>)",
    "multiply_timespan": "TRY(CAST(TRUNCATE(<0> * <1>) AS BIGINT))",
    "divide_timespan": "TRY(CAST(TRUNCATE(<0> / NULLIF(<1>, 0E0)) AS BIGINT))",
    "add_datetime": _MOVED.format(f"{_US} + CAST(FLOOR(<1> / 1E3) AS BIGINT)"),
    "subtract_datetime": _MOVED.format(f"{_US} - CAST(CEIL(<1> / 1E3) AS BIGINT)"),
    "subtract_datetimes": f"TRY(({_US} - {_MICROS.format('<1>')}) * 1000)",
    "bin_datetime": _FROM_MICROS.format(f"{_US} - {_FROM_YEAR_1} % (<1> / 1000)"),
    "startofday": _START.format("day"),
    "startofweek": _MOVED.format(f"{_US} - ({_FROM_YEAR_1} + 86400000000) % 604800000000"),
    "startofmonth": _START.format("month"),
    "startofyear": _START.format("year"),
    "unit_number": f"({_FROM_YEAR_1} / <1>)",
    "round": "ROUND(<0>, CAST(<1> AS INTEGER))",
    # DATE_FORMAT knows milliseconds only.
    "datetime_to_string": "REPLACE(TO_ISO8601(CAST(<0> AS TIMESTAMP(6) WITH TIME ZONE) AT TIME ZONE 'UTC'), 'Z', '0Z')",
    "dynamic_to_string": "COALESCE(JSON_EXTRACT_SCALAR(<0>, '$'), NULLIF(<0>, 'null'))",
    "dynamic_is_number": "COALESCE(REGEXP_LIKE(<0>, '\\A-?[0-9]'), FALSE)",
    "string_to_datetime": "CASE WHEN NOT REGEXP_LIKE(<0>, <1>) THEN NULL"
    f" WHEN NOT REGEXP_LIKE(<0>, <2>) THEN {_OF_DATE}"
    f" WHEN REGEXP_LIKE(<0>, <3>) THEN {_OF_ZONED} ELSE {_OF_UTC} END",
    "member_text": "COALESCE(JSON_EXTRACT_SCALAR(<0>, <1>), NULLIF(JSON_FORMAT(JSON_EXTRACT(<0>, <1>)), 'null'))",
    "member_is_number": "COALESCE(REGEXP_LIKE(JSON_FORMAT(JSON_EXTRACT(<0>, <1>)), '\\A-?[0-9]'), FALSE)",
    "member": "JSON_FORMAT(JSON_EXTRACT(<0>, <1>))",
    "parse_json": "COALESCE(JSON_FORMAT(TRY(JSON_PARSE(<0>))), JSON_FORMAT(CAST(<0> AS JSON)))",
    "array_length": "JSON_ARRAY_LENGTH(<0>)",
    "stored_list": "JSON_FORMAT(CAST(<0> AS JSON))",
    "split": "JSON_FORMAT(CAST(SPLIT(COALESCE(<0>, ''), <1>) AS JSON))",
    "contains": "(STRPOS(<0>, <1>) > 0)",
    "endswith": "(<0> LIKE '%' AND SUBSTRING(<0>, LENGTH(<0>) - LENGTH(<1>) + 1) = <1> AND LENGTH(<0>) >= LENGTH(<1>))",
    "term": "REGEXP_LIKE(<0>, <1>)",
    "term_cs": "REGEXP_LIKE(<0>, <1>)",
    "replace_regex": "REGEXP_REPLACE(<0>, <1>, <2>)",
    "sum": "COALESCE(SUM(<0>), 0)",
    "binary_all_and": "BITWISE_AND_AGG(<0>)",
    "binary_all_or": "BITWISE_OR_AGG(<0>)",
    "binary_all_xor": "BITWISE_XOR_AGG(<0>)",
    "arg_max": "MAX_BY(<0>, <1>)",
    "arg_min": "MIN_BY(<0>, <1>)",
    "arg_max_real": _EXTREME_REAL.format("MAX_BY"),
    "arg_min_real": _EXTREME_REAL.format("MIN_BY"),
    "make_series": "JSON_FORMAT(CAST(ARRAY_AGG(<0> ORDER BY <1>) AS JSON))",
    "make_list": "COALESCE(JSON_FORMAT(CAST(ARRAY_AGG(<0>) FILTER (WHERE <0> IS NOT NULL) AS JSON)), '[]')",
    "make_set": "COALESCE(JSON_FORMAT(CAST(ARRAY_SORT(ARRAY_AGG(DISTINCT <0>) FILTER (WHERE <0> IS NOT NULL)) AS JSON)), '[]')",
    "make_list_dynamic": "('[' || COALESCE(LISTAGG(<0>, ',') WITHIN GROUP (ORDER BY <0>), '') || ']')",
    "make_set_dynamic": "('[' || COALESCE(ARRAY_JOIN(ARRAY_SORT(ARRAY_AGG(DISTINCT <0>)), ','), '') || ']')",
}  # fmt: skip
