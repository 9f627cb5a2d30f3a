"""Columns `dataset` and `dataset_id` in SQL: there if a query names them, and in no star."""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from segplane.query.sql.sql_points import given_names

# Values of such columns by the name of a dataset.
DatasetConstants = Mapping[str, Mapping[str, str]]


def read_by(tree: exp.Expr, constants: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that a query names, and gives to nothing itself, with their values."""
    names = {column.name.lower() for column in tree.find_all(exp.Column)} - given_names(tree)
    return {name: value for name, value in constants.items() if name in names}


def without_in_stars(tree: exp.Expr, constants: DatasetConstants) -> str | None:
    """Return SQL whose stars leave these columns out; None if no star is over such a dataset."""
    common = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    is_changed = False
    for star in list(tree.find_all(exp.Star)):
        qualifier = star.parent.table if isinstance(star.parent, exp.Column) else ""
        select = star.find_ancestor(exp.Select)
        if select is None or isinstance(star.parent, exp.Func):
            continue
        names = dict.fromkeys(
            name
            for table in _tables(select, common)
            if qualifier in ("", table.alias_or_name)
            for name in constants.get(table.db or table.name, ())
        )
        if names:
            left_out = [exp.column(name) for name in names]
            star.set("except_", [*(star.args.get("except_") or ()), *left_out])
            is_changed = True
    return tree.sql("duckdb") if is_changed else None


def _tables(select: exp.Select, common: set[str]) -> Iterator[exp.Table]:
    """Yield the tables of the catalog that a SELECT reads itself."""
    joins = select.args.get("joins") or ()
    for source in (select.args.get("from_"), *joins):
        table = source.this if source is not None else None
        if isinstance(table, exp.Table) and (table.db or table.name.lower() not in common):
            yield table
