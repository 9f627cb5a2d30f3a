"""Names and texts as SQL quotes them."""


def quoted(name: str) -> str:
    """Return a name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def unbounded(name: str) -> str:
    """Return a column as an expression whose values DuckDB knows no bounds of.

    Parquet's bounds leave NaN out. DuckDB hands a filter of the plain column down to row groups,
    answers conditions and `max` from their bounds, and follows bounds through arithmetic.
    """
    return f"TRY({quoted(name)})"


def literal(text: str) -> str:
    """Return a text as SQL quotes it."""
    return "'" + text.replace("'", "''") + "'"


# DuckDB's database is named `memory`, and a schema of that name would be ambiguous. No new dataset
# has a slash in its name.
FREE_MEMORY = ("ATTACH ':memory:' AS \"/\"", 'USE "/"', "DETACH memory")
