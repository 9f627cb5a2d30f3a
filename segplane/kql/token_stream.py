"""Tokens, read one after the other, with the limits that a parser keeps while it reads."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeVar

from segplane.kql.errors import KqlError, quoted
from segplane.kql.lexer import Token, tokens

# Each level takes several frames of Python's stack, here and where the tree is walked.
NESTING_MAX = 40
Part = TypeVar("Part")


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

    def after(self) -> Token:
        """Return the token behind the next one."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    def has_before(self, end: str, sign: str) -> bool:
        """Tell whether a sign comes before another one, or before the end of the text."""
        for token in self._tokens[self._index :]:
            if token.kind == "operator" and token.text in (end, sign):
                return token.text == sign
        return False

    def take(self) -> Token:
        """Read the next token; the end stays."""
        token = self.next
        if token.kind != "end":
            self._index += 1
        return token

    def is_at(self, *texts: str) -> bool:
        """Tell whether the next token is one of these names or signs."""
        return self.next.kind in ("name", "operator") and self.next.text in texts

    def is_at_text(self) -> bool:
        """Tell whether the next token is a text in quotes."""
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
