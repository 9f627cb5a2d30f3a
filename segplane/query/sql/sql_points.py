"""Points of metrics in SQL: whether `value` is the computed column, and rate() knows the flags."""

from collections.abc import Callable

from sqlglot import exp

from kql.dataset_table import VALUE

# Functions whose tables have a column of that name.
_GIVING = frozenset(["json_each", "json_tree"])


def gives_value(tree: exp.Expr) -> bool:
    """Return whether a query itself gives something the name `value`, which it then means.

    Such queries are older than the column.
    """
    functions = {function.name.lower() for function in tree.find_all(exp.Anonymous)}
    return bool(functions & _GIVING) or VALUE in given_names(tree)


def given_names(tree: exp.Expr) -> frozenset[str]:
    """Return the names that a query itself gives to columns, in lower case."""
    names = [alias.alias for alias in tree.find_all(exp.Alias)]
    names += [name.name for alias in tree.find_all(exp.TableAlias) for name in alias.columns]
    return frozenset(name.lower() for name in names)


def have_flags(tree: exp.Expr, is_dataset: Callable[[str], bool]) -> bool:
    """Return whether rate() is called without flags, and always over one dataset alone."""
    calls = (call for call in tree.find_all(exp.Anonymous) if call.name.lower() == "rate")
    short = [call for call in calls if len(call.expressions) == 3]
    common = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    return bool(short) and all(_is_over_dataset(call, common, is_dataset) for call in short)


def _is_over_dataset(
    call: exp.Anonymous, common: set[str], is_dataset: Callable[[str], bool]
) -> bool:
    select = call.find_ancestor(exp.Select)
    source = select.args.get("from_") if select is not None else None
    if select is None or source is None or select.args.get("joins"):
        return False
    table = source.this
    if not isinstance(table, exp.Table) or (not table.db and table.name.lower() in common):
        return False
    return is_dataset(table.db or table.name)
