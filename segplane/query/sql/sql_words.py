"""Comparisons in SQL with words that no record has, such as `severity = 'error'`."""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from kql.pushdown.stored_words import Words, first, table_words, warning, words_of
from kql.scope import CheckedQuery
from kql.typed import Table

_INSTEAD = "write {column} = '{word}', which is {column} =~ '{text}' in KQL"


def common_words(tables: Mapping[str, Table | CheckedQuery]) -> Words:
    """Return the words of the columns that have the same ones in all tables that have them."""
    common: dict[str, tuple[str, ...]] = {}
    others: set[str] = set()
    for table in tables.values():
        words = table_words(table) if isinstance(table, Table) else words_of(table.relation)
        others |= {
            n for n in table.columns if n not in words or common.get(n, words[n]) != words[n]
        }
        common |= words
    return {name: words for name, words in common.items() if name not in others}


def warnings_of(tree: exp.Expr, words: Words) -> tuple[str, ...]:
    """Return a sentence for each comparison with a word that no record has, a few at most."""
    aliases = {alias.alias.lower() for alias in tree.find_all(exp.Alias)}
    column_words = {name: texts for name, texts in words.items() if name not in aliases}
    return first(_all(tree, column_words))


def _all(tree: exp.Expr, words: Words) -> Iterator[str]:
    for node in tree.find_all(exp.EQ, exp.NEQ, exp.In, exp.Like):
        sides = [node.this, *node.expressions, node.args.get("expression")]
        columns = [side for side in sides if isinstance(side, exp.Column)]
        literals = [s for s in sides if isinstance(s, exp.Literal) and s.is_string]
        if len(columns) != 1 or columns[0].name.lower() not in words:
            continue
        if isinstance(node, exp.Like) and any({"%", "_"} & set(t.name) for t in literals):
            continue
        name = columns[0].name.lower()
        for literal in literals:
            text = warning(name, literal.name, words[name], _INSTEAD)
            if text is not None:
                yield text
