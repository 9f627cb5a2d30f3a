"""Places of errors in the text of a query, from what their messages say."""

import re
from dataclasses import dataclass

from kql.errors import KqlError

_KQL_PLACE = re.compile(r"^([0-9]+):([0-9]+): ")
_SQL_PLACE = re.compile(r" *Line ([0-9]+), Col: ([0-9]+)\.?")
_NAME = re.compile(r"\"([^\"]{1,255})\"|'([^']{1,255})'")


@dataclass(frozen=True, slots=True)
class LocatedError:
    """A message, and the place that it is about; line 0 = no place is known.

    Lines and columns are counted from 1. `excerpt` is the line with a caret below the place.
    """

    message: str
    line: int = 0
    column: int = 0
    length: int = 1
    excerpt: str = ""


def locate(message: str, text: str) -> LocatedError:
    """Return a message with its place in the text of the query.

    A message without a place that quotes a word of the text is about the word where it is first.
    """
    if match := _KQL_PLACE.match(message):
        return _at(message[match.end() :], text, int(match[1]), int(match[2]))
    if match := _SQL_PLACE.search(message):
        # The parser of SQL names the last character of a word.
        message = f"{message[: match.start()].rstrip('.')}{message[match.end() :]}"
        line, column = int(match[1]), int(match[2])
        before = text.split("\n")[line - 1][:column] if line <= text.count("\n") + 1 else ""
        word = re.search(r"\w+$", before)
        return _at(message, text, line, word.start() + 1 if word else column)
    for match in _NAME.finditer(message):
        name = match[1] or match[2]
        if word := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            line = text.count("\n", 0, word.start()) + 1
            column = word.start() - text.rfind("\n", 0, word.start())
            return _at(message, text, line, column)
    return LocatedError(message)


def _at(message: str, text: str, line: int, column: int) -> LocatedError:
    """Return the error at a place, of the length of the word there."""
    lines = text.split("\n")
    if not 1 <= line <= len(lines) or not 1 <= column <= len(lines[line - 1]) + 1:
        return LocatedError(message)
    offset = sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
    word = re.match(r"\w+", text[offset:])
    excerpt = KqlError(offset, "", "").excerpt(text)
    return LocatedError(message, line, column, len(word[0]) if word else 1, excerpt)
