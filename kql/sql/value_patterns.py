"""SQL patterns of the library's functions of numbers, texts and times, of the three engines."""

from kql.types import DATETIME_MAX, DATETIME_MIN

_NUMBERS = {
    "sign": "CASE WHEN ISNAN(<0>) THEN <0> WHEN <0> > 0 THEN 1E0 WHEN <0> < 0 THEN -1E0 WHEN <0> = 0 THEN 0E0 END",
    "ceiling": "CEIL(<0>)",
    "exp2": "POWER(2E0, <0>)",
    "exp10": "POWER(1E1, <0>)",
    # Engines refuse sines of infinities.
    "sin": "SIN(CASE WHEN <0> - <0> = 0 THEN <0> END)",
    "cos": "COS(CASE WHEN <0> - <0> = 0 THEN <0> END)",
    "tan": "TAN(CASE WHEN <0> - <0> = 0 THEN <0> END)",
    "cot": "(1E0 / NULLIF(TAN(CASE WHEN <0> - <0> = 0 THEN <0> END), 0E0))",
    "asin": "ASIN(CASE WHEN <0> BETWEEN -1 AND 1 THEN <0> END)",
    "acos": "ACOS(CASE WHEN <0> BETWEEN -1 AND 1 THEN <0> END)",
    "atan": "ATAN(<0>)",
    "atan2": "ATAN2(<0>, <1>)",
    "degrees": "DEGREES(<0>)",
    "radians": "RADIANS(<0>)",
    "pi": "PI()",
    "isinf": "COALESCE(<0> = CAST('Infinity' AS DOUBLE) OR <0> = CAST('-Infinity' AS DOUBLE), FALSE)",
    "isfinite": "COALESCE(<0> - <0> = 0, FALSE)",
    "greatest": "GREATEST(<*>)",
    "least": "LEAST(<*>)",
}
_TEXTS = {
    "replace_plain": "REPLACE(<0>, <1>, <2>)",
    "pad_zeros": "CASE WHEN LENGTH(<0>) >= <1> THEN <0> ELSE LPAD(<0>, <1>, '0') END",
    "repeat": "CASE WHEN LENGTH(<0>) * <1> <= 1048576 THEN REPEAT(<0>, CAST(<1> AS INT)) ELSE '' END",
    "translate": "TRANSLATE(<0>, <1>, <2>)",
    "hash_md5": "MD5(<0>)",
    "hash_sha1": "SHA1(<0>)",
}
_COMMON = {**_NUMBERS, **_TEXTS}
# Names in a URL that stand as they are; the rest is UTF-8 in lower-case hexadecimal.
_URL_KEPT = "A-Za-z0-9_.!*()-"


def _span(divide: str, text: str) -> str:
    """Return the layout of a timespan t in ticks: [-][d.]hh:mm:ss[.fffffff]."""

    def clock(unit: int, count: int) -> str:
        number = f"{divide.format('ABS(t)', unit)} % {count}"
        return f"LPAD(CAST({number} AS {text}), 2, '0')"

    days = divide.format("ABS(t)", 864_000_000_000)
    return (
        "CONCAT(CASE WHEN t < 0 THEN '-' ELSE '' END,"
        f" CASE WHEN {days} > 0 THEN CONCAT(CAST({days} AS {text}), '.') ELSE '' END,"
        f" {clock(36_000_000_000, 24)}, ':', {clock(600_000_000, 60)}, ':', {clock(10_000_000, 60)},"
        f" CASE WHEN t % 10000000 = 0 THEN '' ELSE"
        f" CONCAT('.', LPAD(CAST(ABS(t) % 10000000 AS {text}), 7, '0')) END)"
    )


# An array from the first number to the last one, both included.
_RANGE = (
    "CASE WHEN {s} = 0 OR ABS((CAST(<1> AS DOUBLE) - <0>) / NULLIF({s}, 0)) >= 1048576 THEN NULL"
    " WHEN (CAST(<1> AS DOUBLE) - <0>) * {s} >= 0 THEN {made}"
    " WHEN <0> IS NOT NULL AND <1> IS NOT NULL AND {s} IS NOT NULL THEN '[]' END"
)


def _ranges(made: str) -> dict[str, str]:
    """Return the patterns of an engine that makes the array of `{s}` as the step like that."""
    return {
        "range_by_one": _RANGE.format(s="1", made=made.format(s="1")),
        "range_by": _RANGE.format(s="<2>", made=made.format(s="<2>")),
    }


_BOUNDS = f"BETWEEN {DATETIME_MIN} AND {DATETIME_MAX}"
DUCKDB = {
    **_COMMON,
    **_ranges("CAST(TO_JSON(GENERATE_SERIES(<0>, <1>, {s})) AS VARCHAR)"),
    "binary_and": "(<0> & <1>)",
    "binary_or": "(<0> | <1>)",
    "binary_xor": "XOR(<0>, <1>)",
    "binary_not": "(-1 - <0>)",
    # The value is shifted as a text of bits, since a number that overflows is refused.
    "binary_shift_left": "CASE WHEN <1> >= 0 THEN CAST(CAST(<0> AS BIT) << CAST(<1> % 64 AS INT) AS BIGINT) END",
    "binary_shift_right": "CASE WHEN <1> >= 0 THEN (<0> >> (<1> % 64)) END",
    "position": "STRPOS(<0>, <1>)",
    "count_matches": "LEN(REGEXP_EXTRACT_ALL(<0>, <1>))",
    # By characters: REVERSE keeps marks behind their letters.
    "reverse": "ARRAY_TO_STRING(LIST_REVERSE(STRING_SPLIT(<0>, '')), '')",
    "to_hex": "LOWER(TO_HEX(<0>))",
    "hash_sha256": "SHA256(<0>)",
    "string_size": "COALESCE(STRLEN(<0>), 0)",
    "base64_encode_tostring": "TO_BASE64(ENCODE(<0>))",
    "base64_decode_tostring": "COALESCE(TRY(DECODE(FROM_BASE64(<0>))), '')",
    "url_decode": "COALESCE(TRY(URL_DECODE(REPLACE(<0>, '+', ' '))), '')",
    "url_encode": "ARRAY_TO_STRING(LIST_TRANSFORM(STRING_SPLIT(<0>, ''), LAMBDA c:"
    f" CASE WHEN REGEXP_MATCHES(c, '^[{_URL_KEPT}]$') THEN c WHEN c = ' ' THEN '+'"
    " ELSE LOWER(URL_ENCODE(c)) END), '')",
    "url_encode_component": "ARRAY_TO_STRING(LIST_TRANSFORM(STRING_SPLIT(<0>, ''), LAMBDA c:"
    f" CASE WHEN REGEXP_MATCHES(c, '^[{_URL_KEPT}]$') THEN c ELSE LOWER(URL_ENCODE(c)) END), '')",
    "dynamic_type": "CASE JSON_TYPE(<0>) WHEN 'ARRAY' THEN 'array' WHEN 'OBJECT' THEN 'dictionary'"
    " WHEN 'VARCHAR' THEN 'string' WHEN 'BOOLEAN' THEN 'bool' WHEN 'DOUBLE' THEN 'double'"
    " WHEN 'UBIGINT' THEN CASE WHEN TRY_CAST(<0> AS INT) IS NOT NULL"
    " THEN 'int' ELSE 'long' END"
    " WHEN 'BIGINT' THEN CASE WHEN TRY_CAST(<0> AS INT) IS NOT NULL THEN 'int' ELSE 'long' END"
    " ELSE 'null' END",
    "ipv4_number": "CASE WHEN REGEXP_MATCHES(<0>, <1>) THEN LIST_REDUCE(LIST_TRANSFORM(STRING_SPLIT(SPLIT_PART(<0>, '/', 1), '.'),"
    " LAMBDA b: TRY_CAST(b AS BIGINT)), LAMBDA a, b: a * 256 + b) END",
    "ipv4_prefix": "COALESCE(TRY_CAST(NULLIF(SPLIT_PART(<0>, '/', 2), '') AS BIGINT), 32)",
    "timespan_part": "(ABS(<0> // 100) // <1> % <2>)",
    "timespan_to_string": "LIST_TRANSFORM([<0> // 100], LAMBDA t: CASE WHEN t IS NOT NULL THEN "
    + _span("{0} // {1}", "VARCHAR") + " END)[1]",
    "micros_to_datetime": f"CASE WHEN <0> {_BOUNDS} THEN MAKE_TIMESTAMPTZ(<0>) END",
    "add_months": "LIST_TRANSFORM([TRY((<0> AT TIME ZONE 'UTC') + TO_MONTHS(CAST(<1> AS INT)))], LAMBDA t:"
    f" CASE WHEN EPOCH_US(t) {_BOUNDS} THEN t AT TIME ZONE 'UTC' END)[1]",
    "week_of_year": "CAST(WEEKOFYEAR(<0> AT TIME ZONE 'UTC') AS INT)",
}  # fmt: skip
_MICROS = "PMOD(UNIX_MICROS(<0>), 86400000000)"
_DATE = f"DATE_ADD(DATE '1970-01-01', CAST((UNIX_MICROS(<0>) - {_MICROS}) DIV 86400000000 AS INT))"
SPARK = {
    **_COMMON,
    **_ranges("TO_JSON(SEQUENCE(<0>, <1>, {s}))"),
    # CEIL gives a long, which neither large reals nor NaN are.
    "ceiling": "CASE WHEN ABS(<0>) < 9E15 THEN CAST(CEIL(<0>) AS DOUBLE) ELSE <0> END",
    "binary_and": "(<0> & <1>)",
    "binary_or": "(<0> | <1>)",
    "binary_xor": "(<0> ^ <1>)",
    "binary_not": "(~<0>)",
    "binary_shift_left": "CASE WHEN <1> >= 0 THEN SHIFTLEFT(<0>, CAST(<1> % 64 AS INT)) END",
    "binary_shift_right": "CASE WHEN <1> >= 0 THEN SHIFTRIGHT(<0>, CAST(<1> % 64 AS INT)) END",
    "position": "CAST(INSTR(<0>, <1>) AS BIGINT)",
    "count_matches": "CAST(SIZE(REGEXP_EXTRACT_ALL(<0>, <1>, 0)) AS BIGINT)",
    "reverse": "REVERSE(<0>)",
    "to_hex": "LOWER(HEX(<0>))",
    "hash_sha256": "SHA2(<0>, 256)",
    "string_size": "CAST(COALESCE(OCTET_LENGTH(<0>), 0) AS BIGINT)",
    "base64_encode_tostring": "REPLACE(BASE64(CAST(<0> AS BINARY)), '\r\n', '')",
    "base64_decode_tostring": "COALESCE(TRY_VALIDATE_UTF8(CAST(TRY_TO_BINARY(<0>, 'base64') AS STRING)), '')",
    "url_decode": "COALESCE(TRY_URL_DECODE(<0>), '')",
    "url_encode": "ARRAY_JOIN(TRANSFORM(SPLIT(<0>, ''), c -> CASE WHEN c RLIKE"
    f" '^[{_URL_KEPT}]$' THEN c WHEN c = ' ' THEN '+' ELSE LOWER(URL_ENCODE(c)) END), '')",
    "url_encode_component": "ARRAY_JOIN(TRANSFORM(SPLIT(<0>, ''), c -> CASE WHEN c RLIKE"
    f" '^[{_URL_KEPT}]$' THEN c WHEN c = ' ' THEN '%20' ELSE LOWER(URL_ENCODE(c)) END), '')",
    "dynamic_type": "CASE WHEN LEFT(LTRIM(<0>), 1) = '[' THEN 'array' WHEN LEFT(LTRIM(<0>), 1) = '{' THEN 'dictionary'"
    " WHEN LEFT(LTRIM(<0>), 1) = '\"' THEN 'string' WHEN TRIM(<0>) IN ('true', 'false') THEN 'bool'"
    " WHEN <0> RLIKE '^ *-?[0-9]+ *$' AND TRY_CAST(<0> AS INT) IS NOT NULL THEN 'int'"
    " WHEN <0> RLIKE '^ *-?[0-9]+ *$' AND TRY_CAST(<0> AS DECIMAL(38, 0)) BETWEEN"
    " -9223372036854775808 AND 18446744073709551615 THEN 'long'"
    " WHEN <0> RLIKE '^ *-?[0-9]' THEN 'double' ELSE 'null' END",
    "ipv4_number": "CASE WHEN <0> RLIKE <1> THEN AGGREGATE(SPLIT(SUBSTRING_INDEX(<0>, '/', 1), '[.]'), 0L,"
    " (a, b) -> a * 256 + TRY_CAST(b AS BIGINT)) END",
    "ipv4_prefix": "COALESCE(TRY_CAST(CASE WHEN INSTR(<0>, '/') > 0 THEN SUBSTRING_INDEX(<0>, '/', -1) END AS BIGINT), 32)",
    "timespan_part": "(ABS(<0> DIV 100) DIV <1> % <2>)",
    "timespan_to_string": "TRANSFORM(ARRAY(<0> DIV 100), t -> CASE WHEN t IS NOT NULL THEN "
    + _span("{0} DIV {1}", "STRING") + " END)[0]",
    "micros_to_datetime": f"CASE WHEN <0> {_BOUNDS} THEN TIMESTAMP_MICROS(<0>) END",
    "add_months": "TRANSFORM(ARRAY(CASE WHEN <1> BETWEEN -120000 AND 120000 THEN"
    f" CAST(UNIX_DATE(ADD_MONTHS({_DATE}, CAST(<1> AS INT))) AS BIGINT) * 86400000000 + {_MICROS} END),"
    f" t -> CASE WHEN t {_BOUNDS} THEN TIMESTAMP_MICROS(t) END)[0]",
    "week_of_year": f"WEEKOFYEAR({_DATE})",
}  # fmt: skip
# The rest is not written for Trino: it is refused there by name.
TRINO = {
    **_ranges("JSON_FORMAT(CAST(SEQUENCE(<0>, <1>, {s}) AS JSON))"),
    "repeat": "CASE WHEN LENGTH(<0>) * <1> <= 1048576 THEN ARRAY_JOIN(REPEAT(<0>, CAST(<1> AS INTEGER)), '') ELSE '' END",
    "greatest": "ARRAY_MAX(FILTER(ARRAY[<*>], v -> v IS NOT NULL))",
    "least": "ARRAY_MIN(FILTER(ARRAY[<*>], v -> v IS NOT NULL))",
    "hash_md5": "LOWER(TO_HEX(MD5(TO_UTF8(<0>))))",
    "hash_sha1": "LOWER(TO_HEX(SHA1(TO_UTF8(<0>))))",
    "hash_sha256": "LOWER(TO_HEX(SHA256(TO_UTF8(<0>))))",
    "binary_and": "BITWISE_AND(<0>, <1>)",
    "binary_or": "BITWISE_OR(<0>, <1>)",
    "binary_xor": "BITWISE_XOR(<0>, <1>)",
    "binary_not": "BITWISE_NOT(<0>)",
    "binary_shift_left": "CASE WHEN <1> >= 0 THEN BITWISE_LEFT_SHIFT(<0>, CAST(<1> % 64 AS INTEGER)) END",
    "binary_shift_right": "CASE WHEN <1> >= 0 THEN BITWISE_RIGHT_SHIFT_ARITHMETIC(<0>, CAST(<1> % 64 AS INTEGER)) END",
    "count_matches": "REGEXP_COUNT(<0>, <1>)",
    "reverse": "REVERSE(<0>)",
    "to_hex": "LOWER(REGEXP_REPLACE(TO_HEX(TO_BIG_ENDIAN_64(<0>)), '^0+(?=.)', ''))",
    "string_size": "CAST(COALESCE(LENGTH(TO_UTF8(<0>)), 0) AS BIGINT)",
    "base64_encode_tostring": "TO_BASE64(TO_UTF8(<0>))",
    "ipv4_number": "CASE WHEN REGEXP_LIKE(<0>, <1>) THEN REDUCE(SPLIT(SPLIT_PART(<0>, '/', 1), '.'), BIGINT '0',"
    " (a, b) -> a * 256 + TRY_CAST(b AS BIGINT), a -> a) END",
    "timespan_to_string": "TRANSFORM(ARRAY[<0> / 100], t -> CASE WHEN t IS NOT NULL THEN "
    + _span("{0} / {1}", "VARCHAR") + " END)[1]",
    "micros_to_datetime": f"CASE WHEN <0> {_BOUNDS} THEN CAST(FROM_UNIXTIME_NANOS(CAST(<0> AS DECIMAL(38, 0)) * 1000)"
    " AS TIMESTAMP(6) WITH TIME ZONE) END",
    "week_of_year": "CAST(WEEK(<0> AT TIME ZONE 'UTC') AS INTEGER)",
}  # fmt: skip
