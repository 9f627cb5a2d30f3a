"""Terms of which the rows of a query's reads must have some: files without them are skipped.

Conservative: a need that is not known skips nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kql.pushdown.passing import reads
from kql.typed import (
    Among,
    Apply,
    ColumnValue,
    Constant,
    Expression,
    Logic,
    Member,
    Relation,
    Table,
)
from segments.token_index.terms import (
    ATTRIBUTE_COLUMNS,
    TEXT_COLUMNS,
    has_pair,
    pair_hash,
    searched_terms,
    term_hash,
)

# Terms of which a row must have one, at most; a longer choice skips hardly any file.
CHOICES_MAX = 16


class TextPlace(NamedTuple):
    """A column of texts, or the value of a key in one of JSON objects."""

    column: str
    key: str | None = None


class NeededTerm(NamedTuple):
    """A text that a row has at a place: in a column a `term`, under a key the whole `value`.

    `value` is None if it is not known, and `term` is empty then or if the text has none.
    """

    source: TextPlace
    term: str
    value: str | None = None

    @property
    def text(self) -> str:
        """The text that an index is asked for; empty if it cannot be asked."""
        column, key = self.source
        if key is None:
            return self.term if column in TEXT_COLUMNS else ""
        is_pair = self.value is not None and has_pair(key, self.value)
        return self.value or "" if is_pair and column in ATTRIBUTE_COLUMNS else ""

    @property
    def hash(self) -> int:
        """Its hash."""
        column, key = self.source
        return term_hash(column, self.text) if key is None else pair_hash(column, key, self.text)


# A row that matters has one of these terms at least.
Choice = frozenset[NeededTerm]


@dataclass(frozen=True, slots=True)
class _Terms:
    choices: tuple[Choice, ...] = ()

    def filtered(self, condition: Expression) -> "_Terms":
        return _Terms((*self.choices, *_choices(condition)))

    def renamed(self, values: Mapping[str, Expression]) -> "_Terms":
        """Keep the choices of which every term is somewhere below."""

        def moved(text_place: TextPlace) -> tuple[TextPlace, ...]:
            if text_place.column not in values:
                return ()
            sources = _places(values[text_place.column])
            if text_place.key is None:
                return sources
            return tuple(TextPlace(p.column, text_place.key) for p in sources if p.key is None)

        kept = []
        for choice in self.choices:
            places = {term: moved(term.source) for term in choice}
            if all(places.values()):
                kept.append(frozenset(t._replace(source=p) for t in choice for p in places[t]))
        return _Terms(tuple(kept))


def needed_terms(relation: Relation) -> dict[str, tuple[int, ...]]:
    """Return, for each table that is read, hashes of terms of which its rows must have one.

    Empty = no row can be skipped by its terms.
    """
    choices: dict[str, Choice] = {}
    for table, needed in reads(relation, _Terms()):
        stored = _Terms(tuple(_stored(choice, table) for choice in needed.choices))
        former, best = choices.get(table.name), _best(stored.choices)
        # The files of a table serve all of its reads.
        choices[table.name] = best if former is None else (best and former and best | former)
    return {name: tuple(sorted(t.hash for t in choice)) for name, choice in choices.items()}


def _stored(choice: Choice, table: Table) -> Choice:
    """Return a choice by the columns of files; empty if their indexes do not know one of it."""
    promoted = {
        p.name: TextPlace(p.base, p.attribute) for p in table.promoted if p.type == "string"
    }
    terms = set()
    for term in choice:
        column, key = term.source
        stored = TextPlace(table.stored.get(column, column), key)
        text_place = promoted.get(column, stored) if key is None else stored
        term = term._replace(source=text_place)
        if column in table.computed or not term.text:
            return frozenset()
        terms.add(term)
    return frozenset(terms)


def _choices(condition: Expression) -> tuple[Choice, ...]:
    """Return the choices of the rows for which a condition is true."""
    match condition:
        case Logic(operator="and"):
            return tuple(choice for part in condition.parts for choice in _choices(part))
        case Logic(operator="or"):
            parts = [_best(_choices(part)) for part in condition.parts]
            return (frozenset().union(*parts),) if all(parts) else ()
        case Among():
            options = [_equal(condition.value, option) for option in condition.options]
            return (frozenset().union(*options),) if options and all(options) else ()
        case Apply(template="eq", arguments=(left, right)):
            choice = _equal(left, right) or _equal(right, left)
            return (choice,) if choice else ()
        case Apply(arguments=(value, *_)) if condition.terms:
            if isinstance(value, Apply) and value.template == "tolower":
                (value,) = value.arguments
            if not isinstance(value, ColumnValue):
                return ()
            text_place = TextPlace(value.name)
            return tuple(frozenset([NeededTerm(text_place, term)]) for term in condition.terms)
        case _:
            return ()


def _equal(value: Expression, other: Expression) -> Choice:
    """Return the choice of rows with this text; empty if it is not known beforehand."""
    if not isinstance(other, Constant) or not isinstance(other.value, str):
        return frozenset()
    term = max(searched_terms(other.value), key=len, default="")
    return frozenset(NeededTerm(text_place, term, other.value) for text_place in _places(value))


def _places(value: Expression) -> tuple[TextPlace, ...]:
    """Return the places of which a text is one; none if it is made in another way."""
    match value:
        case ColumnValue():
            return (TextPlace(value.name),)
        case Apply(template="dynamic_to_string", arguments=(Member() as member,)):
            return tuple(dict.fromkeys(_member_places(member)))
        case _:
            return ()


def _member_places(member: Member) -> Iterator[TextPlace]:
    """Yield the keys that the value at a path can be beside: none in a list."""
    if isinstance(member.base, ColumnValue) and all(isinstance(key, str) for key in member.keys):
        for path in (member.keys, member.flat):
            if path:
                yield TextPlace(member.base.name, str(path[-1]))


def _best(choices: tuple[Choice, ...]) -> Choice:
    """Return the choice that skips most: the one whose shortest term is longest."""
    short = [choice for choice in choices if 0 < len(choice) <= CHOICES_MAX]
    return max(
        short, key=lambda choice: min(len(t.value or t.term) for t in choice), default=frozenset()
    )
