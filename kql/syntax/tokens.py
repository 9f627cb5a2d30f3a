"""Tokens: made from text, within bounds, and read one after the other."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeVar

from kql import types
from kql.errors import KqlError, quoted
from kql.types import ALIASES, UNIT_NANOS, KqlType, Value

TEXT_CHARACTERS_MAX = 65_536
TOKENS_MAX = 10_000
# Each level takes several frames of Python's stack, here and in walks of the tree.
NESTING_MAX = 40
Kind = Literal["name", "literal", "operator", "end"]
_UNITS = "|".join(sorted(UNIT_NANOS, key=len, reverse=True))
_WORDS = (
    "project-(?:away|keep|rename|reorder)|parse-where|mv-expand|make-series|sample-distinct"
    "|top-nested"
)
# No token of its own, but named in a refusal: operators of KQL that the subset lacks.
_OTHER_WORDS = "mv-apply|top-hitters|parse-kv|project-smart"
_TOKEN = re.compile(
    rf"""
    (?P<blank>(?:\s+|//[^\n]*)+)
  | (?P<timespan>\d+(?:\.\d+)?(?:{_UNITS})\b)
  | (?P<hex>0[xX][0-9a-fA-F]+\b)
  | (?P<real>\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)\b)
  | (?P<long>\d+(?![\w.]|\.\d)|\d+(?=\.\.))
  | (?P<typed>(?:{"|".join((*ALIASES, "decimal"))})\s*\()
  | (?P<name>(?:{_WORDS}|{_OTHER_WORDS})\b|in~|[A-Za-z_$][\w$]*)
  | (?P<string>@"(?:[^"]|"")*"|@'(?:[^']|'')*'|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<operator>\.\.|==|!=|<=|>=|=~|!~|<>|!(?:in~|[a-z_]+)|[-+*/%<>=()\[\]{{}},.;|:])
    """,
    re.VERBOSE | re.ASCII,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Token:
    """One token; a literal has a type and a value."""

    kind: Kind
    text: str
    offset: int
    end: int
    type: KqlType | None = None
    value: Value = None


def tokens(text: str) -> list[Token]:
    """Return the tokens of a text, the last of kind `end`. Raises KqlError."""
    if len(text) > TEXT_CHARACTERS_MAX:
        raise KqlError(
            TEXT_CHARACTERS_MAX,
            f"the text has {len(text):,} characters",
            f"at most {TEXT_CHARACTERS_MAX:,} are read: split the query",
        )
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _no_token(text, position)
        if match.lastgroup == "typed":
            tokens.append(_typed(text, match))
        elif match.lastgroup != "blank":
            tokens.append(_token(match))
        position = tokens[-1].end if match.lastgroup == "typed" else match.end()
        if len(tokens) > TOKENS_MAX:
            hint = f"at most {TOKENS_MAX:,} are read: split the query"
            raise KqlError(position, "the text has too many tokens", hint)
    tokens.append(Token("end", "the end of the text", len(text), len(text)))
    return tokens


def _token(match: re.Match[str]) -> Token:
    text, start, end = match[0], match.start(), match.end()
    kind = match.lastgroup
    if kind == "name":
        return Token("name", text, start, end)
    if kind == "operator":
        return Token("operator", text, start, end)
    if kind == "string":
        return Token("literal", text, start, end, "string", _unquoted(text, start))
    type_: KqlType = "timespan" if kind == "timespan" else "real" if kind == "real" else "long"
    return Token("literal", text, start, end, type_, _value(type_, text, start))


def _typed(text: str, match: re.Match[str]) -> Token:
    """Return the token of `type(...)`, whose content is not an expression."""
    head = match[0].rstrip("( \t\r\n")
    end = _closing(text, match.end(), match.start())
    if head == "decimal":
        raise KqlError(match.start(), "decimal is not supported", "use real")
    content = text[match.end() : end]
    type_ = ALIASES[head]
    if re.fullmatch(r"\s*[A-Za-z_]\w*\s*", content) and content.strip() not in _CONSTANTS:
        hint = f"to convert a value, write to{head}({content.strip()[:40]})"
        raise KqlError(match.start(), f"{head}(...) holds a constant", hint)
    value = _value(type_, content, match.start())
    return Token("literal", text[match.start() : end + 1], match.start(), end + 1, type_, value)


_CONSTANTS = frozenset(["null", "true", "false", "nan", "inf"])


def _value(type_: KqlType, text: str, offset: int) -> Value:
    try:
        return types.literal(type_, text)
    except ValueError as error:
        raise KqlError(offset, f"{quoted(text)} is no {type_}", str(error)) from None


def _closing(text: str, start: int, opened: int) -> int:
    """Return the place of the closing bracket; texts in quotes do not count."""
    depth, quote, position = 1, "", start
    while position < len(text):
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in "()":
            depth += 1 if character == "(" else -1
            if depth == 0:
                return position
        position += 1
    raise KqlError(opened, "a bracket is not closed", "add ')'")


def _unquoted(text: str, offset: int) -> str:
    if text[0] == "@":
        value = text[2:-1].replace(text[1] * 2, text[1])
    else:
        value = _ESCAPE.sub(_character, text[1:-1])
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise KqlError(offset, "a text holds a NUL or half a character", "leave it out")
    return value


def _character(match: re.Match[str]) -> str:
    name = match[1]
    return chr(int(name[1:], 16)) if len(name) == 5 else _ESCAPED.get(name, name)


def _no_token(text: str, position: int) -> KqlError:
    character = text[position]
    if character in "\"'@":
        return KqlError(position, "a text in quotes does not end", "close it on the same line")
    if character.isdigit():
        hint = "write numbers as 1 or 1.5, timespans as 5m, names in ['...']"
        return KqlError(position, "a number is followed by a letter", hint)
    if character == "&":
        return KqlError(
            position, f"there is no operator {text[position : position + 2]!r}", "write and"
        )
    hint = "write names with other than ASCII letters as ['name']"
    return KqlError(position, f"no token begins with {character!a}", hint)


Part = TypeVar("Part")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


class TokenStream:
    """The tokens of a text, the next of them, and how deep the parser is."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._index = 0
        self._depth = 0

    @property
    def next(self) -> Token:
        """The token that is read next."""
        return self._tokens[self._index]

    @property
    def first(self) -> Token:
        """The first token."""
        return self._tokens[0]

    @property
    def before(self) -> Token:
        """The token that was read last."""
        return self._tokens[max(self._index - 1, 0)]

    def after(self) -> Token:
        """Return the token behind the next one."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    def pipe_depth(self) -> int | None:
        """Return the number of brackets around the outermost '|', up to the end of the open one.

        None = there is none.
        """
        depth, outermost = 0, None
        for token in self._tokens[self._index :]:
            if token.kind != "operator":
                continue
            if token.text in _OPENING:
                depth += 1
            elif token.text in _CLOSING:
                depth -= 1
            if depth < 0 or (token.text == ";" and not depth):
                break
            if token.text == "|" and (outermost is None or depth < outermost):
                outermost = depth
        return outermost

    def behind_bracket(self) -> str:
        """Return the text behind the bracket that opens here; "" if it does not close."""
        depth = 0
        for index, token in enumerate(self._tokens[self._index :], self._index):
            if token.kind == "operator":
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
            if depth <= 0:
                return self._tokens[min(index + 1, len(self._tokens) - 1)].text
        return ""

    def take(self) -> Token:
        """Read the next token; the end stays."""
        token = self.next
        if token.kind != "end":
            self._index += 1
        return token

    def is_at(self, *texts: str) -> bool:
        """Return whether the next token is one of these names or signs."""
        return self.next.kind in ("name", "operator") and self.next.text in texts

    def is_at_text(self) -> bool:
        """Return whether the next token is a text in quotes."""
        return self.next.kind == "literal" and self.next.type == "string"

    def accept(self, *texts: str) -> Token | None:
        """Read the next token if it is one of these."""
        return self.take() if self.is_at(*texts) else None

    def expect(self, text: str, hint: str) -> Token:
        """Read the next token, which must be this one."""
        if not self.is_at(text):
            self.fail(f"expected {text!r}, found {self.found()}", hint)
        return self.take()

    def found(self) -> str:
        """Describe the next token for a message."""
        return self.next.text if self.next.kind == "end" else quoted(self.next.text)

    def fail(self, what: str, hint: str, at: Token | None = None) -> NoReturn:
        """Refuse the text at a token, by default the next one."""
        raise KqlError((at or self.next).offset, what, hint)

    def list_of(self, part: Callable[[], Part]) -> tuple[Part, ...]:
        """Read parts between commas, at least one."""
        parts = [part()]
        while self.accept(","):
            parts.append(part())
        return tuple(parts)

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Count one level of nesting while the block runs."""
        if self._depth >= NESTING_MAX:
            hint = f"at most {NESTING_MAX} levels are read: name parts of it with let or extend"
            self.fail("brackets or signs are nested too deeply", hint)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def name(self, what: str) -> Token:
        """Read a name: plain, or as ['...']."""
        if self.is_at("["):
            start = self.take()
            if not self.is_at_text():
                self.fail(f"expected a name in quotes, found {self.found()}", "write ['name']")
            text = self.take()
            end = self.expect("]", "write ['name']")
            if not text.value:
                self.fail("a name is empty", "give it at least one character", text)
            return Token("name", str(text.value), start.offset, end.end)
        if self.next.kind != "name":
            self.fail(f"expected {what}, found {self.found()}", "names have no quotes around them")
        return self.take()
