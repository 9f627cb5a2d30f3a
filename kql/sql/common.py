"""SQL patterns that all engines share: `<0>` is the first argument, `<*>` all of them."""

_COMPARISONS = {
    "eq": "(<0> = <1>)",
    "eq_pair": "(<0> = <1>)",
    "eq_real": "(<0> = <1> AND NOT ISNAN(<0>))",
    "ne": "(<0> IS DISTINCT FROM <1>)",
    "ne_pair": "(<0> IS DISTINCT FROM <1>)",
    # NaN is unequal to itself in KQL, and equal in most engines.
    "ne_real": "(<0> IS DISTINCT FROM <1> OR ISNAN(<0>))",
    "lt": "(<0> < <1>)",
    "le": "(<0> <= <1>)",
    "gt": "(<0> > <1>)",
    "ge": "(<0> >= <1>)",
    "strcmp": "CASE WHEN (<0> < <1>) THEN CAST(-1 AS BIGINT) WHEN (<0> > <1>) THEN CAST(1 AS BIGINT) ELSE CAST(0 AS BIGINT) END",
    # Engines take NaN as the greatest; in KQL a comparison with it is false.
    "lt_real": "(<0> < <1> AND NOT ISNAN(<0>) AND NOT ISNAN(<1>))",
    "le_real": "(<0> <= <1> AND NOT ISNAN(<0>) AND NOT ISNAN(<1>))",
    "gt_real": "(<0> > <1> AND NOT ISNAN(<0>) AND NOT ISNAN(<1>))",
    "ge_real": "(<0> >= <1> AND NOT ISNAN(<0>) AND NOT ISNAN(<1>))",
}
_ARITHMETIC = {
    "add_real": "(<0> + <1>)",
    "subtract_real": "(<0> - <1>)",
    "multiply_real": "(<0> * <1>)",
    # Division by zero is infinite or NaN, as in Kusto.
    "divide_real": "(<0> / <1>)",
    "divide_timespans": "(CAST(<0> AS DOUBLE) / CAST(<1> AS DOUBLE))",
    # Never below zero, as Kusto documents; a divisor that is subtracted cannot overflow.
    "remainder": "CASE WHEN <0> % NULLIF(<1>, 0) < 0"
    " THEN <0> % NULLIF(<1>, 0) - CASE WHEN <1> < 0 THEN <1> ELSE -<1> END"
    " ELSE <0> % NULLIF(<1>, 0) END",
    "remainder_real": "CASE WHEN <0> % NULLIF(<1>, 0E0) < 0 THEN <0> % NULLIF(<1>, 0E0) + ABS(<1>)"
    " ELSE <0> % NULLIF(<1>, 0E0) END",
    "bin_real": "CASE WHEN <1> > 0 THEN FLOOR(<0> / NULLIF(<1>, 0E0)) * <1> END",
    "round_whole": "ROUND(<0>)",
    "isnan": "COALESCE(ISNAN(<0>), FALSE)",
    "sqrt": "CASE WHEN <0> >= 0 THEN SQRT(<0>) END",
    "pow": "POWER(<0>, <1>)",
    "exp": "EXP(<0>)",
    "log": "CASE WHEN <0> > 0 THEN LN(<0>) END",
    "log2": "CASE WHEN <0> > 0 THEN LOG2(<0>) END",
    "log10": "CASE WHEN <0> > 0 THEN LOG10(<0>) END",
    # The lowest bit of a point's flags says that it has no recorded value.
    "recorded": "CASE WHEN COALESCE(<1>, 0) % 2 = 0 THEN <0> END",
    # A key that compares as null does: NaN is equal to nothing, and in an order next to the nulls.
    "without_nan": "CASE WHEN NOT ISNAN(<0>) THEN <0> END",
    "nan_rank": "CASE WHEN <0> IS NULL THEN 2 WHEN ISNAN(<0>) THEN 1 ELSE 0 END",
}
_CONVERSIONS = {
    "same": "<0>",
    # A promoted column; if it is null, the attribute that it repeats.
    "promoted_or": "COALESCE(<0>, <1>)",
    "to_long": "CAST(<0> AS BIGINT)",
    "to_real": "CAST(<0> AS DOUBLE)",
    "bool_to_int": "CAST(<0> AS INT)",
    "bool_to_long": "CAST(<0> AS BIGINT)",
    "long_to_int": "TRY_CAST(<0> AS INT)",
    "to_string": "CAST(<0> AS VARCHAR)",
    "bool_to_real": "CASE WHEN <0> THEN 1E0 WHEN NOT <0> THEN 0E0 END",
    "to_bool": "(<0> <> 0)",
    "string_to_bool": "CASE WHEN LOWER(<0>) IN ('true', '1') THEN TRUE"
    " WHEN LOWER(<0>) IN ('false', '0') THEN FALSE END",
}
_TEXTS = {
    "or_empty": "COALESCE(<0>, '')",
    "isempty": "(COALESCE(<0>, '') = '')",
    "isnotempty": "(COALESCE(<0>, '') <> '')",
    "isnull": "(<0> IS NULL)",
    "isnotnull": "(<0> IS NOT NULL)",
    "not": "(NOT <0>)",
    "coalesce": "COALESCE(<*>)",
    "null_if_empty": "NULLIF(<0>, '')",
    "strcat": "CONCAT('', <*>)",
    "strlen": "COALESCE(LENGTH(<0>), 0)",
    "tolower": "LOWER(<0>)",
    "toupper": "UPPER(<0>)",
    "replace_string": "CASE WHEN <1> = '' THEN <0> ELSE REPLACE(<0>, <1>, <2>) END",
    "substring": "SUBSTRING(<0>, CASE WHEN <1> >= 0 THEN LEAST(<1>, 1000000000) + 1 ELSE GREATEST(<1> + LENGTH(<0>), 0) + 1 END)",
    "substring_of": "SUBSTRING(<0>, CASE WHEN <1> >= 0 THEN LEAST(<1>, 1000000000) + 1 ELSE GREATEST(<1> + LENGTH(<0>), 0) + 1 END, LEAST(GREATEST(<2>, 0), 1000000000))",
    "extract": "COALESCE(REGEXP_EXTRACT(<2>, <0>, <1>), '')",
    "slice": "SUBSTRING(<0>, <1>, <2>)",
}
_AGGREGATES = {
    "count_rows": "COUNT(*)",
    "count": "COUNT(<0>)",
    "countif": "COUNT(CASE WHEN <0> THEN 1 END)",
    "dcount": "COUNT(DISTINCT <0>)",
    "sum_real": "COALESCE(SUM(<0>), 0E0)",
    "avg": "AVG(<0>)",
    "min": "MIN(<0>)",
    "max": "MAX(<0>)",
    # Engines take NaN as the greatest; in KQL it is the result only where nothing else is.
    "max_real": "COALESCE(MAX(CASE WHEN NOT ISNAN(<0>) THEN <0> END), MAX(<0>))",
    "min_real": "COALESCE(MIN(CASE WHEN NOT ISNAN(<0>) THEN <0> END), MIN(<0>))",
    "stdev": "COALESCE(STDDEV_SAMP(<0>), 0E0)",
    "variance": "COALESCE(VAR_SAMP(<0>), 0E0)",
    "stdevp": "COALESCE(STDDEV_POP(<0>), 0E0)",
    "variancep": "COALESCE(VAR_POP(<0>), 0E0)",
    "only_where": "CASE WHEN <1> THEN <0> END",
    "binary_all_and": "BIT_AND(<0>)",
    "binary_all_or": "BIT_OR(<0>)",
    "binary_all_xor": "BIT_XOR(<0>)",
    "take_any": "ANY_VALUE(<0>)",
}
COMMON = {**_COMPARISONS, **_ARITHMETIC, **_CONVERSIONS, **_TEXTS, **_AGGREGATES}

# Conditions that null makes false rather than null; around them COALESCE, but not in a filter,
# where it would keep engines from pruning by them.
TOTAL = frozenset(["eq", "contains", "startswith", "endswith", "match", "term", "term_cs"])
# Two nulls make these null, one makes them false or true.
PAIRS = frozenset(["eq_pair", "eq_real", "ne_pair", "ne_real"])
# Arguments whose width in SQL does not matter, so that constants stay readable.
PLAIN = frozenset(
    [*_COMPARISONS, "slice", "pad_zeros", "extract_all", "substring", "round", "extract"]
)


# Functions that look at other rows: `<1>` is the number of the row.
_SUM = "SUM({0}) OVER ({1}ORDER BY {2} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
_TYPES = {"int": "INT", "long": "BIGINT", "timespan": "BIGINT", "real": "DOUBLE"}


def _sums(type_: str, zero: str) -> dict[str, str]:
    """Return cumulative sums of a type, of all rows and of those of a part, `<2>`."""
    term = f"COALESCE(<0>, {zero})"
    whole = _SUM.format(term, "", "<1>")
    part = _SUM.format(term, "PARTITION BY <2> ", "<1>")
    return {
        f"row_cumsum_{type_}": f"CAST({whole} AS {_TYPES[type_]})",
        f"row_cumsum_{type_}_part": f"CAST({part} AS {_TYPES[type_]})",
    }


WINDOWS = {
    "prev": "LAG(<0>, <2>) OVER (ORDER BY <1>)",
    "prev_or": "LAG(<0>, <2>, <3>) OVER (ORDER BY <1>)",
    "next": "LEAD(<0>, <2>) OVER (ORDER BY <1>)",
    "next_or": "LEAD(<0>, <2>, <3>) OVER (ORDER BY <1>)",
    "row_number": "(ROW_NUMBER() OVER (ORDER BY <0>) + <1>)",
    "row_number_part": "(ROW_NUMBER() OVER (PARTITION BY <2> ORDER BY <0>) + <1>)",
    # How many rows up to this one begin a part.
    "parts": "CAST(" + _SUM.format("CASE WHEN <0> THEN 1 ELSE 0 END", "", "<1>") + " AS BIGINT)",
    "is_changed": "(<0> IS DISTINCT FROM LAG(<0>) OVER (ORDER BY <1>)"
    " OR ROW_NUMBER() OVER (ORDER BY <1>) = 1)",
    **_sums("int", "0"),
    **_sums("long", "0"),
    **_sums("timespan", "0"),
    **_sums("real", "0E0"),
}
