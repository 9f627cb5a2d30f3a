"""Parser of scalar expressions."""

from collections.abc import Callable

from kql.catalog.table import INFIX
from kql.errors import KqlError
from kql.syntax.tokens import NESTING_MAX, TokenStream
from kql.syntax.tree import (
    Call,
    Expression,
    Infix,
    Item,
    Literal,
    Name,
    Negation,
    Path,
    QueryPipeline,
    Star,
    Subquery,
)

_EQUALITY = 3
_MISSING = "write a column, a constant or a function call"


class ExpressionParser:
    """Reads expressions from a stream of tokens."""

    def __init__(self, stream: TokenStream) -> None:
        self.stream = stream
        # Reads a query within an expression; None if none may stand.
        self.pipeline: Callable[[], QueryPipeline] | None = None
        self.is_at_table: Callable[[], bool] = lambda: False

    def expression(self, above: int = 0) -> Expression:
        """Read an expression whose operators all bind more tightly than `above`."""
        with self.stream.nested():
            left, depth = self._operand(), 0
            while (operator := self._operator()) and INFIX[operator].precedence > above:
                precedence = INFIX[operator].precedence
                token = self.stream.take()
                if operator == "matches regex":
                    self.stream.expect("regex", "write: matches regex 'pattern'")
                right = self._right(operator, precedence)
                left, depth = _joined(token.offset, operator, left, right, depth)
            return left

    def item(self) -> Item:
        """Read `expression` or `name = expression`."""
        stream = self.stream
        if stream.next.kind == "name" and stream.after().text == "=":
            name = stream.take().text
            stream.take()
            return Item(self.expression(), name)
        start = stream.next
        expression = self.expression()
        if stream.is_at("="):
            if not isinstance(expression, Name):
                stream.fail("a name stands before '='", "write name = expression", start)
            stream.take()
            return Item(self.expression(), expression.name)
        return Item(expression)

    def _operator(self) -> str | None:
        token = self.stream.next
        if token.kind not in ("name", "operator"):
            return None
        text = "matches regex" if token.text == "matches" else token.text
        if token.kind == "operator" and text.startswith("!") and text not in INFIX:
            self.stream.fail(f"there is no operator {text!r}", "not(...) negates a condition")
        return text if text in INFIX else None

    def _right(self, operator: str, precedence: int) -> tuple[Expression, ...]:
        stream, shape = self.stream, INFIX[operator].shape
        if shape == "list":
            opened = stream.expect("(", f"write: x {operator} (1, 2)")
            is_table = operator in _TABLES and self.is_at_table()
            values = (self._subquery(),) if is_table else stream.list_of(self.expression)
            self._close(opened.offset)
            return values
        if shape == "range":
            opened = stream.expect("(", f"write: x {operator} (low .. high)")
            low = self.expression()
            stream.expect("..", f"write: x {operator} (low .. high)")
            high = self.expression()
            self._close(opened.offset)
            return (low, high)
        right = self.expression(precedence)
        if precedence == _EQUALITY and self._operator() in _COMPARISONS:
            self.stream.fail("comparisons do not follow one another", "join them with 'and'")
        return (right,)

    def _subquery(self) -> Subquery:
        if self.pipeline is None:
            hint = "put the query over the view, where it can read other tables"
            self.stream.fail("a projection reads no table", hint)
        return Subquery(self.stream.next.offset, self.pipeline())

    def _close(self, opened: int) -> None:
        if self.stream.next.kind == "end":
            raise KqlError(opened, "a bracket is not closed", "add ')'")
        self.stream.expect(")", "close the bracket, or put ',' between values")

    def _operand(self) -> Expression:
        stream = self.stream
        if stream.is_at("-", "+"):
            sign = stream.take()
            with stream.nested():
                operand = self._operand()
            return Negation(sign.offset, operand) if sign.text == "-" else operand
        expression = self._primary()
        steps = 0
        while stream.is_at(".", "["):
            expression = self._member(expression)
            steps += 1
            if steps > NESTING_MAX:
                stream.fail("a path has too many steps", f"at most {NESTING_MAX} are read")
        return expression

    def _member(self, base: Expression) -> Path:
        stream = self.stream
        start = stream.take()
        if start.text == ".":
            return Path(start.offset, base, stream.name("a member's name").text, is_dotted=True)
        is_from_end = stream.is_at("-") and stream.after().type == "long"
        if is_from_end:
            stream.take()
        token = stream.next
        if token.kind != "literal" or token.type not in ("string", "long"):
            stream.fail("expected a constant key or index", "write attributes['key'] or array[0]")
        stream.take()
        stream.expect("]", "write attributes['key'] or array[0]")
        key = token.value
        assert isinstance(key, str | int)
        if is_from_end:
            index = Negation(start.offset, Literal(token.offset, key, "long"))
            return Path(start.offset, Call(start.offset, "array_slice", (base, index, index)), 0)
        return Path(start.offset, base, key)

    def _primary(self) -> Expression:
        stream, token = self.stream, self.stream.next
        if token.kind == "literal":
            return self._literal()
        if token.text == "(" and token.kind == "operator":
            stream.take()
            inside = self.expression()
            self._close(token.offset)
            return inside
        if token.text == "*" and token.kind == "operator":
            return Star(stream.take().offset)
        if token.kind == "operator" and len(token.text) > 2 and token.text[0] == "!":
            stream.fail("'!' stands before no value", f"write not({token.text[1:]}(...))")
        if token.kind != "name" and not stream.is_at("["):
            stream.fail(f"an expression is missing before {stream.found()}", _MISSING)
        if token.text in ("true", "false"):
            return Literal(stream.take().offset, token.text == "true", "bool")
        name = stream.name("a column or a function")
        if token.kind == "name" and stream.is_at("("):
            return self._call(name.text, token.offset)
        return Name(token.offset, name.text)

    def _literal(self) -> Literal:
        token = self.stream.take()
        assert token.type is not None
        value = token.value
        # Texts in quotes that follow one another are one text.
        while token.type == "string" and self.stream.is_at_text():
            value = f"{value}{self.stream.take().value}"
        return Literal(token.offset, value, token.type)

    def _call(self, name: str, offset: int) -> Call:
        opened = self.stream.take()
        if self.stream.accept(")"):
            return Call(offset, name, ())
        if name == "typeof":
            type_ = self.stream.name("a type")
            self._close(opened.offset)
            return Call(offset, name, (Literal(type_.offset, type_.text, "string"),))
        if name == "toscalar":
            inner = self._subquery()
            self._close(opened.offset)
            return Call(offset, name, (inner,))
        arguments = self.stream.list_of(self.expression)
        self._close(opened.offset)
        return Call(offset, name, arguments)


# Operators whose list may be the first column of a table.
_TABLES = frozenset(["in", "!in", "in~", "!in~"])
_COMPARISONS = frozenset(n for n, o in INFIX.items() if o.precedence == _EQUALITY)


def _joined(
    offset: int, operator: str, left: Expression, right: tuple[Expression, ...], depth: int
) -> tuple[Expression, int]:
    """Return a node with how deep it leans to the left; chains of and, or are one flat node."""
    if operator in ("and", "or") and isinstance(left, Infix) and left.operator == operator:
        return Infix(left.offset, operator, left.left, left.right + right), depth
    if depth >= NESTING_MAX:
        hint = f"at most {NESTING_MAX} are read: name parts of it with extend, or use strcat()"
        raise KqlError(offset, "too many operators follow one another", hint)
    return Infix(offset, operator, left, right), depth + 1
