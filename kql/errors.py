"""Refusals of the query language, each with a place and with what to do."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

_SHOWN_CHARACTERS_MAX = 80


class KqlError(ValueError):
    """A text that is not a query of the subset.

    `offset` is the index of the offending character; `at` adds the text's line and column, both
    counted from 1.
    """

    def __init__(self, offset: int, what: str, hint: str) -> None:
        super().__init__(f"{what}; {hint}")
        self.offset = offset
        self.what = what
        self.hint = hint
        self.line = 0
        self.column = 0

    def at(self, text: str) -> "KqlError":
        """Return the same refusal with its place in the text as line and column."""
        located = type(self)(self.offset, self.what, self.hint)
        located.line = text.count("\n", 0, self.offset) + 1
        located.column = self.offset - text.rfind("\n", 0, self.offset)
        located.args = (f"{located.line}:{located.column}: {self.what}; {self.hint}",)
        return located

    def excerpt(self, text: str) -> str:
        """Return the offending line with a caret below the place."""
        start = text.rfind("\n", 0, self.offset) + 1
        line = text[start:].split("\n", 1)[0]
        # A line of a million characters does not help: show the text around the place.
        skipped = max(0, self.offset - start - _SHOWN_CHARACTERS_MAX // 2)
        shown = line[skipped : skipped + _SHOWN_CHARACTERS_MAX]
        return f"{shown}\n{' ' * (self.offset - start - skipped)}^"


class UnknownColumn(KqlError):
    """A column that the input does not have, and that another dataset might have."""


class NotOnEngine(KqlError):
    """A part of the subset that an engine cannot evaluate as KQL defines it."""


@contextmanager
def located(text: str) -> Iterator[None]:
    """Give refusals of the block their line and column in a text."""
    try:
        yield
    except KqlError as error:
        raise error.at(text) from None


def quoted(text: str) -> str:
    """Return a piece of a query for a message, cut if it is long."""
    return repr(text if len(text) <= _SHOWN_CHARACTERS_MAX else text[:_SHOWN_CHARACTERS_MAX] + "…")


def suggestion(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return a hint that names what comes closest, or the other hint."""
    closest = get_close_matches(name[:_SHOWN_CHARACTERS_MAX], list(names), 1)
    return f"did you mean {closest[0]!r}?" if closest else otherwise
