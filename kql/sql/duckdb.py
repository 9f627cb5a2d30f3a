"""SQL patterns of DuckDB."""

from kql.sql.array_patterns import first_keys
from kql.types import DATETIME_MAX, DATETIME_MIN

_TEXT_TIME = "STRFTIME(<0> AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%f')"
# AT TIME ZONE asks ICU for each value, which takes nine times as long.
_FROM_MICROS = "MAKE_TIMESTAMPTZ({0})"
# Times beyond the years 1 to 9999 are null.
_MOVED = f"CASE WHEN {{0}} BETWEEN {DATETIME_MIN} AND {DATETIME_MAX} THEN {_FROM_MICROS} END"
# Kusto counts multiples of a timespan from the year 1: so many microseconds before 1970.
_FROM_YEAR_1 = "(EPOCH_US(<0>) + 62135596800000000)"
_START = "(DATE_TRUNC('{0}', <0> AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')"
_ZONED = r"REGEXP_REPLACE(<0>, '([.][0-9]{6})[0-9]+', '\1')"
_ELEMENTS = (
    "CASE WHEN JSON_TYPE(<0>) = 'ARRAY' AND JSON_ARRAY_LENGTH(<0>) > 0"
    " THEN CAST(CAST(CAST(<0> AS JSON) AS JSON[]) AS VARCHAR[])"
    " WHEN JSON_TYPE(<0>) = 'OBJECT' AND LEN(JSON_KEYS(<0>)) > 0"
    f" THEN LIST_TRANSFORM({first_keys('<0>')}, LAMBDA k: '{{' || CAST(TO_JSON(k) AS VARCHAR) || ':' ||"
    " CAST(JSON_EXTRACT(<0>, '/' || REPLACE(REPLACE(k, '~', '~0'), '/', '~1')) AS VARCHAR) || '}')"
)
# A key that is NaN is chosen only where no other is there.
_EXTREME_REAL = (
    "STRUCT_EXTRACT(COALESCE({0}(STRUCT_PACK(v := <0>), CASE WHEN NOT ISNAN(<1>) THEN <1> END),"
    " {0}(STRUCT_PACK(v := <0>), <1>)), 'v')"
)

PATTERNS = {
    # TRY makes null of an overflow; there is no other way to ask for that.
    "add": "TRY(<0> + <1>)",
    "subtract": "TRY(<0> - <1>)",
    "multiply": "TRY(<0> * <1>)",
    "negate": "TRY(-<0>)",
    "abs": "TRY(ABS(<0>))",
    "divide": "TRY(<0> // NULLIF(<1>, 0))",
    "multiply_timespan": "TRY_CAST(TRUNC(<0> * <1>) AS BIGINT)",
    "divide_timespan": "TRY_CAST(TRUNC(<0> / NULLIF(<1>, 0E0)) AS BIGINT)",
    "add_datetime": _MOVED.format("EPOCH_US(<0>) + ((<1> - ((<1> % 1000) + 1000) % 1000) // 1000)"),
    "subtract_datetime": _MOVED.format("EPOCH_US(<0>) - ((<1> + ((1000 - <1> % 1000) % 1000)) // 1000)"),
    "subtract_datetimes": "TRY((EPOCH_US(<0>) - EPOCH_US(<1>)) * 1000)",
    # A width that is not above zero gives null.
    "bin_whole": "CASE WHEN <1> > 0 THEN TRY(<0> - CASE WHEN <0> % NULLIF(<1>, 0) < 0 THEN <0> % NULLIF(<1>, 0) + <1> ELSE <0> % NULLIF(<1>, 0) END) END",
    "bin_datetime": _FROM_MICROS.format(f"EPOCH_US(<0>) - {_FROM_YEAR_1} % (<1> // 1000)"),
    "startofday": _FROM_MICROS.format(f"EPOCH_US(<0>) - {_FROM_YEAR_1} % 86400000000"),
    "startofweek": _MOVED.format(f"EPOCH_US(<0>) - ({_FROM_YEAR_1} + 86400000000) % 604800000000"),
    "startofmonth": _START.format("month"),
    "startofyear": _START.format("year"),
    "unit_number": f"({_FROM_YEAR_1} // <1>)",
    "year_number": "YEAR(<0> AT TIME ZONE 'UTC')",
    "quarter_number": "(YEAR(<0> AT TIME ZONE 'UTC') * 4 + QUARTER(<0> AT TIME ZONE 'UTC'))",
    "month_number": "(YEAR(<0> AT TIME ZONE 'UTC') * 12 + MONTH(<0> AT TIME ZONE 'UTC'))",
    "round": "ROUND(<0>, <1>)",
    "real_to_int": "TRY_CAST(TRUNC(<0>) AS INT)",
    "real_to_long": "TRY_CAST(TRUNC(<0>) AS BIGINT)",
    "real_to_string": "CASE WHEN ABS(<0>) < 1E15 AND <0> = TRUNC(<0>)"
    " THEN CAST(CAST(<0> AS BIGINT) AS VARCHAR) ELSE CAST(<0> AS VARCHAR) END",
    "datetime_to_string": f"({_TEXT_TIME} || '0Z')",
    "dynamic_to_string": "(CAST(<0> AS JSON) ->> '$')",
    "dynamic_is_number": "COALESCE(JSON_TYPE(<0>) IN ('UBIGINT', 'BIGINT', 'DOUBLE'), FALSE)",
    "string_to_int": "CASE WHEN REGEXP_MATCHES(<0>, <1>) THEN TRY_CAST(SPLIT_PART(<0>, '.', 1) AS INT) END",
    "whole_to_int": "TRY_CAST(SPLIT_PART(<0>, '.', 1) AS INT)",
    "string_to_long": "CASE WHEN REGEXP_MATCHES(<0>, <1>) THEN TRY_CAST(SPLIT_PART(<0>, '.', 1) AS BIGINT) END",
    "whole_to_long": "TRY_CAST(SPLIT_PART(<0>, '.', 1) AS BIGINT)",
    "string_to_real": "CASE WHEN REGEXP_MATCHES(<0>, <1>) THEN TRY_CAST(<0> AS DOUBLE) END",
    "number_to_real": "TRY_CAST(<0> AS DOUBLE)",
    "string_to_guid": "CASE WHEN REGEXP_MATCHES(<0>, <1>) THEN LOWER(<0>) END",
    "string_to_datetime": "CASE WHEN NOT REGEXP_MATCHES(<0>, <1>) THEN NULL"
    " WHEN NOT REGEXP_MATCHES(<0>, <2>) THEN TRY_CAST(<0> || ' 00:00:00+00' AS TIMESTAMPTZ)"
    f" WHEN REGEXP_MATCHES(<0>, <3>) THEN TRY_CAST({_ZONED} AS TIMESTAMPTZ)"
    f" ELSE TRY_CAST({_ZONED} || '+00' AS TIMESTAMPTZ) END",
    "member_text": "JSON_EXTRACT_STRING(<0>, <1>)",
    "member_is_number": "COALESCE(JSON_TYPE(<0>, <1>) IN ('UBIGINT', 'BIGINT', 'DOUBLE'), FALSE)",
    "member_is_present": "(JSON_EXTRACT(<0>, <1>) IS NOT NULL)",
    "member": "CAST(JSON_EXTRACT(<0>, <1>) AS VARCHAR)",
    "parse_json": "CASE WHEN JSON_VALID(<0>) THEN <0> ELSE CAST(TO_JSON(<0>) AS VARCHAR) END",
    "array_length": "CASE WHEN JSON_TYPE(<0>) = 'ARRAY' THEN CAST(JSON_ARRAY_LENGTH(<0>) AS BIGINT) END",
    "elements": f"UNNEST({_ELEMENTS} ELSE [NULL] END)",
    # TO_JSON writes NaN and infinities without quotes, and the lists hold no texts.
    "stored_list": "REGEXP_REPLACE(CAST(TO_JSON(<0>) AS VARCHAR), '(NaN|-?Infinity)', '\"\\1\"', 'g')",
    "split": "CAST(TO_JSON(STRING_SPLIT(COALESCE(<0>, ''), <1>)) AS VARCHAR)",
    "contains": "CONTAINS(<0>, <1>)",
    "startswith": "STARTS_WITH(<0>, <1>)",
    "endswith": "ENDS_WITH(<0>, <1>)",
    "match": "REGEXP_MATCHES(<0>, <1>)",
    # The first skips most rows, the second whole row groups whose values are all the same.
    "term": "(REGEXP_MATCHES(<0>, <2>) AND CONTAINS(LOWER(<0>), <3>) AND REGEXP_MATCHES(<0>, <1>))",
    "term_cs": "(CONTAINS(<0>, <2>) AND REGEXP_MATCHES(<0>, <1>))",
    # It is not null if the conversion of the text to a number is not.
    "text_whole": "TRUNC(TRY_CAST(<0> AS DOUBLE))",
    "replace_regex": "REGEXP_REPLACE(<0>, <1>, <2>, 'g')",
    "sum": "COALESCE(TRY_CAST(SUM(<0>) AS BIGINT), CASE WHEN COUNT(<0>) = 0 THEN 0 END)",
    "avg_timespan": "CAST(TRUNC(AVG(<0>)) AS BIGINT)",
    "percentile": "QUANTILE_DISC(<0>, <1>)",
    "percentile_real": "COALESCE(QUANTILE_DISC(CASE WHEN NOT ISNAN(<0>) THEN <0> END, <1>), MAX(<0>))",
    "arg_max": "STRUCT_EXTRACT(ARG_MAX(STRUCT_PACK(v := <0>), <1>), 'v')",
    "arg_min": "STRUCT_EXTRACT(ARG_MIN(STRUCT_PACK(v := <0>), <1>), 'v')",
    "arg_max_real": _EXTREME_REAL.format("ARG_MAX"),
    "arg_min_real": _EXTREME_REAL.format("ARG_MIN"),
    "make_series": "CAST(TO_JSON(LIST(<0> ORDER BY <1>)) AS VARCHAR)",
    "make_list": "COALESCE(CAST(TO_JSON(LIST(<0>) FILTER (WHERE <0> IS NOT NULL)) AS VARCHAR), '[]')",
    "make_set": "COALESCE(CAST(TO_JSON(LIST_SORT(LIST(DISTINCT <0>) FILTER (WHERE <0> IS NOT NULL))) AS VARCHAR), '[]')",
    "make_list_dynamic": "('[' || COALESCE(STRING_AGG(<0>, ','), '') || ']')",
    "make_set_dynamic": "('[' || COALESCE(STRING_AGG(DISTINCT <0>, ',' ORDER BY <0>), '') || ']')",
}  # fmt: skip
