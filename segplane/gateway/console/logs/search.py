"""The search box: plain words, or a condition of KQL, as one condition and the texts to highlight.

Words are terms of the body: `timeout`, `time*` for a term that begins so, `-debug` for records
without it, "connection reset" for a text as it stands. A comparison is KQL.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kql.errors import KqlError
from kql.syntax.parser import parse_query
from kql.syntax.tokens import tokens
from segplane.gateway.console.kql_text import text_literal

WORDS_MAX = 20
CHARACTERS_MAX = 2_048
_HEAD = re.compile(r"\s*(?P<pipe>\|\s*)?(?:where\b)?")
_QUOTED = re.compile(r'"[^"]*"|\'[^\']*\'')
# Operators of KQL, and functions, beyond quotes; a colon or an arrow in a message is none.
_KQL = re.compile(
    r"==|!=|=~|!~|<=|>=|(?<=\w)\s*[<>]\s*(?=[\w('\"])"
    r"|\w\]?\s+!?(?:has|contains|startswith|endswith|hasprefix|hassuffix|in|has_any|has_all"
    r"|between|matches regex)(?:_cs|~)?\s*['\"(]"
    r"|^\s*(?:not|is[a-z]+|tostring|tolower|toint|tolong)\s*\(",
)
_WORD = re.compile(r'(?P<minus>-(?=["\w]))?(?:"(?P<phrase>[^"]+)"?|(?P<word>[^\s"]+))')
_TRACE_ID = re.compile(r"\s*[0-9a-fA-F]{32}\s*")


@dataclass(frozen=True, slots=True)
class LogSearch:
    """A search as a condition of KQL, "" for none, and the texts that it looks for."""

    condition: str = ""
    is_kql: bool = False
    terms: tuple[str, ...] = ()


def parse_search(text: str) -> LogSearch:
    """Understand the text of the search box.

    Raises KqlError, whose excerpt of the text has a caret below the words that caused it.
    """
    if len(text) > CHARACTERS_MAX:
        what = f"the search has {len(text):,} characters"
        raise KqlError(CHARACTERS_MAX, what, f"at most {CHARACTERS_MAX:,} are read").at(text)
    if not text.strip():
        return LogSearch()
    head = _HEAD.match(text)
    assert head is not None
    if not head["pipe"] and not _KQL.search(_QUOTED.sub('""', text)):
        return _words(text)
    start = head.end()
    # Blanks in place of what was left out keep the offsets.
    condition = " " * start + text[start:]
    _check_condition(condition, text)
    looked_for = (
        str(t.value) for t in tokens(condition) if t.kind == "literal" and t.type == "string"
    )
    return LogSearch(condition.rstrip(), True, tuple(t for t in looked_for if t.strip()))


def _check_condition(condition: str, text: str) -> None:
    """Raise KqlError unless a text is one condition."""
    head = "t\n| where\n"
    try:
        operators = parse_query(head + condition).pipeline.operators
        if len(operators) > 1:
            offset, hint = operators[1].offset, "leave out what follows, with its '|'"
            raise KqlError(offset, "a search is one condition", hint)
    except KqlError as error:
        offset = min(max(0, error.offset - len(head)), len(text))
        raise KqlError(offset, error.what, error.hint).at(text) from None


def _words(text: str) -> LogSearch:
    matches = list(_WORD.finditer(text))
    if len(matches) > WORDS_MAX:
        what, hint = f"the search has {len(matches)} words", f"at most {WORDS_MAX} are read"
        raise KqlError(matches[WORDS_MAX].start(), what, hint).at(text)
    conditions = list(_conditions(matches))
    if _TRACE_ID.fullmatch(text):
        trace_id = text_literal(text.strip().lower())
        conditions = [f"({conditions[0]} or trace_id == {trace_id})"]
    terms = (m["phrase"] or m["word"].rstrip("*") for m in matches if not m["minus"])
    return LogSearch(" and ".join(conditions), False, tuple(t for t in terms if t.strip()))


def _conditions(matches: list[re.Match[str]]) -> Iterator[str]:
    for match in matches:
        text, operator = match["phrase"] or match["word"], "has"
        is_word = match["phrase"] is None and re.search(r"[^\W_]", text)
        if not is_word:
            operator = "contains"
        elif len(text) > 1 and text.endswith("*"):
            text, operator = text.removesuffix("*"), "hasprefix"
        condition = f"body {operator} {text_literal(text)}"
        yield f"not({condition})" if match["minus"] else condition
