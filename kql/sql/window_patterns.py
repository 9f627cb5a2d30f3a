"""SQL patterns of the functions that look at other rows: `<1>` is the number of the row."""

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
