"""Parser of queries and projections: pipelines of operators."""

from collections.abc import Callable

from segplane.kql import slips
from segplane.kql.catalog import OPERATORS, SYNONYMS
from segplane.kql.errors import KqlError, quoted, suggestion
from segplane.kql.syntax import (
    Capture,
    ExpressionParser,
    Item,
    Key,
    Name,
    NamePattern,
    Operator,
    ParsedQuery,
    QueryPipeline,
)
from segplane.kql.tokens import TokenStream
from segplane.kql.types import ALIASES, KqlType

# Each is a nested SELECT, and engines and generators recurse over those.
OPERATORS_MAX = 40
SOURCES_MAX = 20
_PARAMETERS = frozenset(["kind", "withsource", "isfuzzy", "hint"])


def parse_query(text: str) -> ParsedQuery:
    """Return the tree of a query. Raises KqlError with line and column."""
    return _located(text, lambda: _Parser(text).query())


def parse_projection(text: str) -> ParsedQuery:
    """Return the tree of a projection, which has no source. Raises KqlError likewise."""
    return _located(text, lambda: _Parser(text).projection())


def _located(text: str, parse: Callable[[], ParsedQuery]) -> ParsedQuery:
    try:
        return parse()
    except KqlError as error:
        raise error.at(text) from None


class _Parser:
    """Reads one text."""

    def __init__(self, text: str) -> None:
        self._stream = TokenStream(text)
        self._expressions = ExpressionParser(self._stream)
        self._operators = 0
        self._sources = 0

    def query(self) -> ParsedQuery:
        stream, query = self._stream, ParsedQuery(QueryPipeline(0, None))
        while stream.accept("let"):
            self._let(query)
        pipeline = self._pipeline()
        self._end()
        return ParsedQuery(pipeline, query.scalars, query.tables)

    def projection(self) -> ParsedQuery:
        if self._stream.is_at("let"):
            self._stream.fail("a projection has no let", "use extend to name a value")
        operators = [] if self._stream.is_at("|") else [self._operator()]
        pipeline = QueryPipeline(0, None, (*operators, *self._operators_behind()))
        self._end()
        return ParsedQuery(pipeline)

    def _end(self) -> None:
        self._stream.accept(";")
        if self._stream.next.kind != "end":
            is_bracket = self._stream.is_at(")", "]", "}")
            hint = "leave the bracket out" if is_bracket else self._hint()
            self._stream.fail(f"expected '|' or the end, found {self._stream.found()}", hint)

    def _hint(self) -> str:
        """Return what to do about a token that should be the end, or begin an operator."""
        stream = self._stream
        slip = slips.behind(stream.next.text, stream.before.text, stream.first.text)
        if stream.next.text in OPERATORS:
            slip = slip or f"write '|' before {stream.next.text}"
        return slip or "separate operators by '|'"

    def _let(self, query: ParsedQuery) -> None:
        stream = self._stream
        name = stream.name("a name after let").text
        stream.expect("=", "write: let name = value;")
        is_name = stream.next.kind == "name" and stream.after().text == ";"
        is_table = is_name and stream.next.text not in query.scalars
        # No scalar holds a '|'.
        if is_table or stream.is_at("union") or stream.has_before(";", "|"):
            query.tables[name] = self._pipeline()
        else:
            query.scalars[name] = self._expressions.expression()
        stream.expect(";", "end a let with ';'")

    def _pipeline(self) -> QueryPipeline:
        stream, offset = self._stream, self._stream.next.offset
        with stream.nested():
            if stream.is_at("union", "print"):
                operators = (self._operator(), *self._operators_behind())
                return QueryPipeline(offset, None, operators)
            source = self._source()
            return QueryPipeline(offset, source, self._operators_behind())

    def _source(self) -> Name | QueryPipeline:
        stream = self._stream
        if opened := stream.accept("("):
            pipeline = self._pipeline()
            if stream.next.kind == "end":
                stream.fail("a bracket is not closed", "add ')'", opened)
            stream.expect(")", "close the bracket of the inner query")
            return pipeline
        self._sources += 1
        if self._sources > SOURCES_MAX:
            stream.fail("the query reads too many tables", f"at most {SOURCES_MAX} are read")
        token = stream.next
        name = stream.name("a dataset or a view").text
        # A dataset's signal: web.logs.
        while stream.accept("."):
            name = f"{name}.{stream.name('a signal').text}"
        return Name(token.offset, name)

    def _operators_behind(self) -> tuple[Operator, ...]:
        operators = []
        while self._stream.accept("|"):
            operators.append(self._operator())
        return tuple(operators)

    def _operator(self) -> Operator:
        stream, token = self._stream, self._stream.next
        self._operators += 1
        if self._operators > OPERATORS_MAX:
            stream.fail("the query has too many operators", f"at most {OPERATORS_MAX} are read")
        name = SYNONYMS.get(token.text, token.text)
        if token.kind != "name" or name not in OPERATORS:
            hint = slips.operator(token.text, [*OPERATORS, *SYNONYMS])
            stream.fail(f"there is no operator {quoted(token.text)}", hint)
        stream.take()
        return _READERS[OPERATORS[name].shape](self, token.offset, name)

    def _item(self) -> Item:
        return Item(self._expressions.expression())

    def value(self, offset: int, name: str) -> Operator:
        return Operator(offset, name, items=(self._item(),))

    def columns(self, offset: int, name: str) -> Operator:
        if name == "distinct" and self._stream.accept("*"):
            return Operator(offset, name)
        return Operator(offset, name, items=self._stream.list_of(self._expressions.item))

    def names(self, offset: int, name: str) -> Operator:
        return Operator(offset, name, patterns=self._stream.list_of(self._pattern))

    def rename(self, offset: int, name: str) -> Operator:
        return Operator(offset, name, renames=self._stream.list_of(self._rename))

    def summarize(self, offset: int, name: str) -> Operator:
        stream, item = self._stream, self._expressions.item
        items = () if stream.is_at("by") else stream.list_of(item)
        by = stream.list_of(item) if stream.accept("by") else ()
        return Operator(offset, name, items=items, by=by)

    def sort(self, offset: int, name: str) -> Operator:
        self._stream.expect("by", "write: sort by column desc")
        return Operator(offset, name, keys=self._stream.list_of(self._key))

    def top(self, offset: int, name: str) -> Operator:
        count = self._item()
        self._stream.expect("by", "write: top 10 by column desc")
        return Operator(offset, name, items=(count,), keys=(self._key(),))

    def bare(self, offset: int, name: str) -> Operator:
        return Operator(offset, name)

    def ignored(self, offset: int, name: str) -> Operator:
        while self._stream.next.kind != "end" and not self._stream.is_at("|", ";", ")"):
            self._stream.take()
        return Operator(offset, name)

    def parse(self, offset: int, name: str) -> Operator:
        stream = self._stream
        source = self._item()
        stream.expect("with", "write: parse body with 'text' name:type *")
        parts: list[str | Capture | None] = []
        while stream.next.kind != "end" and not stream.is_at("|", ";", ")"):
            parts.append(self._part())
        return Operator(offset, name, items=(source,), parts=tuple(parts))

    def expand(self, offset: int, name: str) -> Operator:
        item = self._expressions.item()
        type_: KqlType | None = None
        if self._stream.accept("to"):
            self._stream.expect("typeof", "write: to typeof(long)")
            self._stream.expect("(", "write: to typeof(long)")
            type_ = self._type()
            self._stream.expect(")", "write: to typeof(long)")
        return Operator(offset, name, items=(item,), type=type_)

    def join(self, offset: int, name: str) -> Operator:
        parameters = self._parameters()
        source = self._source()
        self._stream.expect("on", "write: join kind=inner (table) on column")
        items = self._stream.list_of(self._expressions.item)
        right = (
            source if isinstance(source, QueryPipeline) else QueryPipeline(source.offset, source)
        )
        return Operator(offset, name, items=items, sources=(right,), parameters=parameters)

    def union(self, offset: int, name: str) -> Operator:
        parameters = self._parameters()
        sources = self._stream.list_of(self._source)
        pipelines = tuple(
            s if isinstance(s, QueryPipeline) else QueryPipeline(s.offset, s) for s in sources
        )
        return Operator(offset, name, sources=pipelines, parameters=parameters)

    def _parameters(self) -> dict[str, str]:
        stream, found = self._stream, dict[str, str]()
        while stream.next.text in _PARAMETERS and stream.after().text in ("=", "."):
            name = stream.take().text
            while stream.accept("."):
                name = f"{name}.{stream.take().text}"
            stream.expect("=", "write: kind=inner")
            found[name] = stream.take().text
        return found

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


_READERS: dict[str, Callable[[_Parser, int, str], Operator]] = {
    "condition": _Parser.value,
    "count": _Parser.value,
    "items": _Parser.columns,
    "names": _Parser.names,
    "renames": _Parser.rename,
    "parse": _Parser.parse,
    "expand": _Parser.expand,
    "summarize": _Parser.summarize,
    "sort": _Parser.sort,
    "top": _Parser.top,
    "bare": _Parser.bare,
    "ignored": _Parser.ignored,
    "join": _Parser.join,
    "union": _Parser.union,
}
