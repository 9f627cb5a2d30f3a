"""Comparisons with words that no record has, such as `severity == 'error'`: they find nothing.

A comparison heeds case, as Kusto defines it, and the words of some columns are stored in one form.
A warning tells the caller; the query runs as it is written.
"""

from collections.abc import Iterable, Iterator, Mapping

from kql.dataset_table import COMPUTED, STORED_WORDS, WORDS
from kql.typed import (
    Aggregate,
    Among,
    Apply,
    Choice,
    ColumnValue,
    Constant,
    Expression,
    Join,
    Relation,
    RowFilter,
    Scan,
    Select,
    Table,
    Union,
    parts,
)
from kql.walks import every, inputs

WARNINGS_MAX = 5
_CHARACTERS_MAX = 40
# The words of each column that has a fixed set of them; none of one that is always null.
Words = Mapping[str, tuple[str, ...]]
_INSTEAD = {"eq": "=~", "ne": "!~"}


def warnings_of(relation: Relation) -> tuple[str, ...]:
    """Return a sentence for each comparison with a word that no record has, a few at most."""
    return first(text for below in every(relation) for text in _warnings(below))


def first(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the first different sentences."""
    return tuple(dict.fromkeys(texts))[:WARNINGS_MAX]


def words_of(relation: Relation) -> Words:
    """Return the words of the columns that a relation has from a dataset."""
    match relation:
        case Scan():
            return table_words(relation.table)
        case Select():
            return _of_values(relation.values, words_of(relation.input))
        case Aggregate():
            return _of_values(relation.by, words_of(relation.input))
        case Join():
            sides = {"left": words_of(relation.left), "right": words_of(relation.right)}
            pairs = ((n, sides[side].get(source)) for n, (side, source) in relation.outputs.items())
            return {name: words for name, words in pairs if words is not None}
        case Union():
            return _of_all(relation.columns, [words_of(each) for each in relation.inputs])
        case _:
            below = [words_of(each) for each in inputs(relation)]
            return {n: w for each in below for n, w in each.items() if n in relation.columns}


def table_words(table: Table) -> Words:
    """Return the words of a dataset's columns; a promoted column of such a name has none."""
    return {
        name: words
        for name, words in STORED_WORDS.items()
        if name in (table.computed if name in WORDS else table.columns)
    }


def warning(column: str, text: str, words: tuple[str, ...], instead: str) -> str | None:
    """Return what to tell about a comparison, None if records may have the text."""
    if text in words or not text:
        return None
    shown = "".join(c if c.isprintable() else "?" for c in text[:_CHARACTERS_MAX])
    for word in words:
        if word.lower() == text.lower():
            hint = instead.format(column=column, word=word, text=shown)
            return f"no record has the {column} '{shown}', it is stored as '{word}': {hint}"
    return f"no record has the {column} '{shown}': its words are {', '.join(words)}"


def _of_all(names: Iterable[str], each: list[Words]) -> Words:
    """Return the words that a column has in all inputs but those where it is always null."""
    common: dict[str, tuple[str, ...]] = {}
    for name in names:
        column_words = {words.get(name) for words in each} - {()}
        if len(column_words) == 1 and (words := column_words.pop()) is not None:
            common[name] = words
    return common


def _of_values(values: Mapping[str, Expression], below: Words) -> Words:
    pairs = ((name, _of_value(value, below)) for name, value in values.items())
    return {name: words for name, words in pairs if words is not None}


def _of_value(value: Expression, below: Words) -> tuple[str, ...] | None:
    match value:
        case ColumnValue():
            return below.get(value.name)
        case Constant(value=None):
            return ()
        case Apply(template="or_empty", arguments=(inner,)):
            return _of_value(inner, below)
        case Choice():
            name = _word_column(value)
            return None if name is None else STORED_WORDS[name]
    return None


def _word_column(value: Expression) -> str | None:
    return next((name for name in WORDS if COMPUTED[name][1] == value), None)


def _warnings(relation: Relation) -> Iterator[str]:
    match relation:
        case RowFilter():
            expressions: Iterable[Expression] = [relation.condition]
        case Select():
            expressions = relation.values.values()
        case Aggregate():
            expressions = [*relation.by.values(), *relation.values.values()]
        case _:
            return
    below = words_of(relation.input)
    for expression in expressions:
        yield from _of_expression(expression, below)


def _of_expression(expression: Expression, below: Words) -> Iterator[str]:
    match expression:
        case Apply(template="eq" | "ne", arguments=(left, right)):
            instead = _INSTEAD[expression.template]
            yield from _compared(left, (right,), instead, below)
        case Among():
            yield from _compared(expression.value, expression.options, "in~", below)
    for part in parts(expression):
        yield from _of_expression(part, below)


def _compared(
    value: Expression, options: tuple[Expression, ...], instead: str, below: Words
) -> Iterator[str]:
    words = _of_value(value, below)
    for option in options if words else ():
        if isinstance(option, Constant) and isinstance(option.value, str):
            form = f"write {{column}} {instead} '{{text}}'"
            form = form if instead != "in~" else "write {column} in~ ('{text}')"
            text = warning(_name(value), option.value, words or (), form)
            if text is not None:
                yield text


def _name(value: Expression) -> str:
    match value:
        case ColumnValue():
            return value.name
        case Apply(arguments=(inner,)):
            return _name(inner)
    return _word_column(value) or "value"
