"""Parser of the text behind an operator's name, if it holds no inner pipeline."""

from kql.errors import KqlError, quoted, suggestion
from kql.syntax.expression_parser import ExpressionParser
from kql.syntax.tokens import TokenStream
from kql.syntax.tree import (
    Capture,
    Expression,
    Item,
    Key,
    Literal,
    NamePattern,
    Operator,
    TableCall,
)
from kql.types import ALIASES, KqlType

# Parameters of mv-expand.
_EXPANSIONS = frozenset(["with_itemindex", "bagexpansion", "kind"])


class OperatorParser:
    """Reads one operator each call: its place, its name, and the tokens behind that."""

    def __init__(self, stream: TokenStream) -> None:
        self._stream = stream
        self._expressions = ExpressionParser(stream)

    def _is_at_end(self) -> bool:
        return self._stream.next.kind == "end"

    def _item(self) -> Item:
        return Item(self._expressions.expression())

    def value(self, offset: int, name: str) -> Operator:
        """Read one value: `where condition`, `take 10`."""
        return Operator(offset, name, items=(self._item(),))

    def columns(self, offset: int, name: str) -> Operator:
        """Read columns: `project name = expression, ...`, `distinct *`."""
        if name == "distinct" and self._stream.accept("*"):
            return Operator(offset, name)
        return Operator(offset, name, items=self._stream.list_of(self._expressions.item))

    def optional(self, offset: int, name: str) -> Operator:
        """Read columns, or nothing: `serialize name = expression, ...`."""
        if self._is_at_end() or self._stream.is_at("|", ";", ")", "}"):
            return Operator(offset, name)
        return self.columns(offset, name)

    def names(self, offset: int, name: str) -> Operator:
        """Read names and patterns: `project-away name, prefix*`."""
        return Operator(offset, name, patterns=self._stream.list_of(self._pattern))

    def rename(self, offset: int, name: str) -> Operator:
        """Read `new = old, ...`."""
        return Operator(offset, name, renames=self._stream.list_of(self._rename))

    def summarize(self, offset: int, name: str) -> Operator:
        """Read `aggregate, ... by expression, ...`."""
        stream, item = self._stream, self._expressions.item
        items = () if stream.is_at("by") else stream.list_of(item)
        by = stream.list_of(item) if stream.accept("by") else ()
        return Operator(offset, name, items=items, by=by)

    def sort(self, offset: int, name: str) -> Operator:
        """Read `by expression asc nulls last, ...`."""
        self._stream.expect("by", "write: sort by column desc")
        return Operator(offset, name, keys=self._stream.list_of(self._key))

    def top(self, offset: int, name: str) -> Operator:
        """Read `10 by expression`."""
        count = self._item()
        self._stream.expect("by", "write: top 10 by column desc")
        return Operator(offset, name, items=(count,), keys=(self._key(),))

    def bare(self, offset: int, name: str) -> Operator:
        """Read nothing more."""
        return Operator(offset, name)

    def ignored(self, offset: int, name: str) -> Operator:
        """Read all up to the next operator, brackets with their content."""
        stream = self._stream
        while not (self._is_at_end() or stream.is_at("|", ";", ")", "}")):
            if stream.take().text == "(":
                while not (self._is_at_end() or stream.accept(")")):
                    stream.take()
        return Operator(offset, name)

    def datatable(self, offset: int, name: str) -> Operator:
        """Read `(name:type, ...)[value, ...]`."""
        stream, hint = self._stream, "write: datatable(name:long)[1, 2]"
        stream.expect("(", hint)
        declared = stream.list_of(self._declared)
        stream.expect(")", hint)
        stream.expect("[", hint)
        items: list[Item] = []
        while not stream.is_at("]"):
            items.append(self._item())
            if not stream.accept(","):
                break
        stream.expect("]", hint)
        return Operator(offset, name, items=tuple(items), parts=declared)

    def range(self, offset: int, name: str) -> Operator:
        """Read `name from 1 to 10 step 1`."""
        stream, hint = self._stream, "write: range x from 1 to 10 step 1"
        column = stream.name("a column").text
        items: list[Item] = []
        for word in ("from", "to", "step"):
            stream.expect(word, hint)
            items.append(Item(self._expressions.expression(), column))
        return Operator(offset, name, items=tuple(items))

    def series(self, offset: int, name: str) -> Operator:
        """Read `n = count() default=0, ... on time from a to b step s by key, ...`."""
        stream, hint = (
            self._stream,
            "write: make-series n = count() on t from a to b step 1h by key",
        )
        # The value of a step without rows follows each aggregate.
        items: list[Item] = []
        while True:
            items.append(self._expressions.item())
            default: Expression = Literal(stream.next.offset, 0, "long")
            if stream.accept("default"):
                stream.expect("=", hint)
                default = self._expressions.expression()
            items.append(Item(default))
            if not stream.accept(","):
                break
        stream.expect("on", hint)
        axis = [self._expressions.item()]
        for word in ("from", "to", "step"):
            stream.expect(word, hint)
            axis.append(self._item())
        by = stream.list_of(self._expressions.item) if stream.accept("by") else ()
        return Operator(offset, name, items=tuple(items), axis=tuple(axis), by=by)

    def top_nested(self, offset: int, name: str) -> Operator:
        """Read `2 of a by count(), top-nested 3 of b by sum(x) asc`; a number may be omitted."""
        stream, hint = self._stream, "write: top-nested 2 of column by count()"
        items: list[Item] = []
        keys: list[Key] = []
        while True:
            every = Literal(stream.next.offset, None, "long")
            items.append(Item(every) if stream.is_at("of") else self._item())
            stream.expect("of", hint)
            items.append(self._expressions.item())
            if stream.is_at("with"):
                stream.fail("top-nested has no others here", "union them by their own query")
            stream.expect("by", hint)
            aggregate = self._expressions.item()
            items.append(aggregate)
            direction = stream.accept("asc", "desc")
            keys.append(Key(aggregate.expression, direction is None or direction.text == "desc"))
            if not stream.accept(","):
                return Operator(offset, name, items=tuple(items), keys=tuple(keys))
            stream.expect("top-nested", hint)

    def sample(self, offset: int, name: str) -> Operator:
        """Read `10 of column`."""
        count = self._item()
        self._stream.expect("of", "write: sample-distinct 10 of column")
        return Operator(offset, name, items=(count,), by=(self._expressions.item(),))

    def evaluate(self, offset: int, name: str) -> Operator:
        """Read `plugin(value, ...) : (*, name:type, ...)`."""
        stream, hint = self._stream, "write: evaluate bag_unpack(column) : (name:long)"
        token = stream.next
        plugin = stream.name("a plugin").text
        stream.expect("(", hint)
        arguments = () if stream.is_at(")") else stream.list_of(self._expressions.item)
        stream.expect(")", hint)
        parts: tuple[Capture | None, ...] = ()
        if stream.accept(":"):
            stream.expect("(", hint)
            parts = stream.list_of(self._declared_or_all)
            stream.expect(")", hint)
        call = TableCall(token.offset, plugin, arguments)
        return Operator(offset, name, parts=parts, call=call)

    def _declared_or_all(self) -> Capture | None:
        return None if self._stream.accept("*") else self._declared()

    def _declared(self) -> Capture:
        token = self._stream.next
        name = self._stream.name("a column").text
        self._stream.expect(":", "write: name:long")
        return Capture(token.offset, name, self._type())

    def parse(self, offset: int, name: str) -> Operator:
        """Read `text with 'GET ' path:string *`."""
        stream = self._stream
        parameters: dict[str, str] = {}
        while stream.is_at("kind", "flags") and stream.after().text == "=":
            parameter = stream.take().text
            stream.take()
            parameters[parameter] = stream.name("a word").text
        source = self._item()
        stream.expect("with", "write: parse body with 'text' name:type *")
        parts: list[str | Capture | None] = []
        while stream.next.kind != "end" and not stream.is_at("|", ";", ")", "}"):
            parts.append(self._part())
        return Operator(offset, name, items=(source,), parts=tuple(parts), parameters=parameters)

    def expand(self, offset: int, name: str) -> Operator:
        """Read `with_itemindex=i name = array to typeof(long), ... limit 10`."""
        stream = self._stream
        index: dict[str, str] = {}
        while stream.next.text in _EXPANSIONS and stream.after().text == "=":
            parameter = stream.take().text
            stream.take()
            index[parameter] = stream.name("a name").text
        items: list[Item] = []
        types: list[Capture | None] = []
        while True:
            token = stream.next
            items.append(self._expressions.item())
            type_: KqlType | None = None
            if stream.accept("to"):
                stream.expect("typeof", "write: to typeof(long)")
                stream.expect("(", "write: to typeof(long)")
                type_ = self._type()
                stream.expect(")", "write: to typeof(long)")
            types.append(Capture(token.offset, "", type_) if type_ else None)
            if not stream.accept(","):
                break
        keys = (Key(self._expressions.expression()),) if stream.accept("limit") else ()
        return Operator(
            offset, name, items=tuple(items), parts=tuple(types), keys=keys, parameters=index
        )

    def _pattern(self) -> NamePattern:
        """Read a name that may hold `*`, the parts of which follow one another without a blank."""
        stream, start = self._stream, self._stream.next
        if stream.is_at("["):
            token = stream.name("a column")
            return NamePattern(start.offset, token.text)
        text, end = "", start.offset
        while stream.next.offset == end and (stream.next.kind == "name" or stream.is_at("*")):
            token = stream.take()
            text, end = text + token.text, token.end
        if not text:
            stream.fail(f"expected a column, found {stream.found()}", "write a name, * is allowed")
        return NamePattern(start.offset, text)

    def _rename(self) -> tuple[str, NamePattern]:
        new = self._stream.name("the new name").text
        self._stream.expect("=", "write: project-rename new = old")
        old = self._stream.next
        return new, NamePattern(old.offset, self._stream.name("the old name").text)

    def _key(self) -> Key:
        expression = self._expressions.expression()
        direction = self._stream.accept("asc", "desc")
        nulls_first = None
        if self._stream.accept("nulls"):
            if not self._stream.is_at("first", "last"):
                self._stream.fail("expected first or last", "write: nulls first")
            nulls_first = self._stream.take().text == "first"
        return Key(expression, direction is None or direction.text == "desc", nulls_first)

    def _part(self) -> str | Capture | None:
        stream = self._stream
        if stream.is_at_text():
            return str(stream.take().value)
        if stream.accept("*"):
            return None
        token = stream.next
        name = stream.name("a text, a column or *").text
        type_ = self._type() if stream.accept(":") else "string"
        return Capture(token.offset, name, type_)

    def _type(self) -> KqlType:
        token = self._stream.take()
        if token.text not in ALIASES:
            hint = suggestion(token.text, ALIASES, f"types are {', '.join(ALIASES)}")
            raise KqlError(token.offset, f"there is no type {quoted(token.text)}", hint)
        return ALIASES[token.text]
