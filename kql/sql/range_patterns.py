"""SQL patterns of range(): an array from the first number to the last one, both included."""

_RANGE = (
    "CASE WHEN {s} = 0 OR ABS((CAST(<1> AS DOUBLE) - <0>) / NULLIF({s}, 0)) >= 1048576 THEN NULL"
    " WHEN (CAST(<1> AS DOUBLE) - <0>) * {s} >= 0 THEN {made}"
    " WHEN <0> IS NOT NULL AND <1> IS NOT NULL AND {s} IS NOT NULL THEN '[]' END"
)


def ranges(made: str) -> dict[str, str]:
    """Return the patterns of an engine that makes the array of `{s}` as the step like that."""
    return {
        "range_by_one": _RANGE.format(s="1", made=made.format(s="1")),
        "range_by": _RANGE.format(s="<2>", made=made.format(s="<2>")),
    }


DUCKDB = ranges("CAST(TO_JSON(GENERATE_SERIES(<0>, <1>, {s})) AS VARCHAR)")
SPARK = ranges("TO_JSON(SEQUENCE(<0>, <1>, {s}))")
TRINO = ranges("JSON_FORMAT(CAST(SEQUENCE(<0>, <1>, {s}) AS JSON))")
