"""Parser of queries and projections: pipelines of operators."""

from collections.abc import Callable, Sequence

from kql.catalog.table import OPERATORS, SYNONYMS
from kql.errors import located, quoted
from kql.syntax import slips
from kql.syntax.operator_parser import OperatorParser
from kql.syntax.tokens import TokenStream
from kql.syntax.tree import (
    FunctionParameter,
    GroupTables,
    Item,
    Name,
    Names,
    Operator,
    ParsedQuery,
    QueryPipeline,
    Subquery,
    TableCall,
    TableSource,
    UserFunction,
)

# Each is a nested SELECT, and engines and generators recurse over those.
OPERATORS_MAX = 40
SOURCES_MAX = 20
# They begin a pipeline in place of a table.
_BEGINNINGS = ("union", "print", "search")
_PARAMETERS = frozenset(["kind", "withsource", "isfuzzy", "hint"])


def parse_query(text: str) -> ParsedQuery:
    """Return the tree of a query. Raises KqlError with line and column."""
    with located(text):
        return _Parser(text).query()


def parse_projection(text: str) -> ParsedQuery:
    """Return the tree of a projection, which has no source. Raises KqlError likewise."""
    with located(text):
        return _Parser(text).projection()


class _Parser(OperatorParser):
    """Reads one text."""

    def __init__(self, text: str) -> None:
        super().__init__(TokenStream(text))
        self._operators = 0
        self._sources = 0
        self._names = Names()
        self._expressions.is_at_table = self._is_at_table
        self._expressions.pipeline = self._pipeline

    def query(self) -> ParsedQuery:
        self._lets()
        pipeline = self._pipeline()
        self._end()
        return ParsedQuery(pipeline, self._names)

    def _lets(self) -> None:
        while self._stream.accept("let"):
            self._let()

    def projection(self) -> ParsedQuery:
        if self._stream.is_at("let"):
            self._stream.fail("a projection has no let", "use extend to name a value")
        self._expressions.pipeline = None
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

    def _let(self) -> None:
        stream, names = self._stream, self._names
        name = stream.name("a name after let").text
        stream.expect("=", "write: let name = value;")
        is_name = stream.next.kind == "name" and stream.after().text == ";"
        if stream.accept("view") or (stream.is_at("(") and stream.behind_bracket() == "{"):
            names.functions[name] = self._function()
            # A body may end with its bracket alone.
            stream.accept(";")
            return
        if self._is_at_table() or (is_name and stream.next.text not in names.scalars):
            names.tables[name] = self._pipeline()
        else:
            names.scalars[name] = self._expressions.expression()
        stream.expect(";", "end a let with ';'")

    def _function(self) -> UserFunction:
        """Read `(name:type = default, table:(column:type)) { let ...; body }`."""
        stream, offset, hint = self._stream, self._stream.next.offset, "write: (x:long) { x + 1 }"
        stream.expect("(", hint)
        parameters = () if stream.is_at(")") else stream.list_of(self._parameter)
        stream.expect(")", hint)
        opened = stream.expect("{", hint)
        outer = self._names
        self._names = inner = outer.copy()
        with stream.nested():
            self._lets()
            values = {p.name for p in parameters if p.type is not None} | set(inner.scalars)
            is_name = stream.next.kind == "name" and stream.after().text in ("}", ";")
            is_table = self._is_at_table() or (is_name and stream.next.text not in values)
            body = self._pipeline() if is_table else self._expressions.expression()
        stream.accept(";")
        if stream.next.kind == "end":
            stream.fail("a bracket is not closed", "add '}'", opened)
        stream.expect("}", "end the function with '}'")
        self._names = outer
        return UserFunction(offset, parameters, inner, body)

    def _parameter(self) -> FunctionParameter:
        stream, token = self._stream, self._stream.next
        name = stream.name("a parameter").text
        stream.expect(":", "write: name:long")
        if stream.accept("("):
            columns = () if stream.accept("*") else stream.list_of(self._declared)
            stream.expect(")", "write: table:(column:long)")
            return FunctionParameter(token.offset, name, columns=columns)
        type_ = self._type()
        default = self._expressions.expression() if stream.accept("=") else None
        return FunctionParameter(token.offset, name, type_, default=default)

    def _call(self) -> TableCall:
        """Read a call of a function that yields a table."""
        stream, token = self._stream, self._stream.take()
        stream.expect("(", f"write: {token.text}(...)")
        arguments = () if stream.is_at(")") else stream.list_of(self._call_argument)
        stream.expect(")", "close the bracket, or put ',' between values")
        return TableCall(token.offset, token.text, arguments)

    def _call_argument(self) -> Item:
        if self._stream.is_at("(") and self._stream.pipe_depth() == 1:
            return Item(Subquery(self._stream.next.offset, self._pipeline()))
        return self._expressions.item()

    def invoke(self, offset: int, name: str) -> Operator:
        return Operator(offset, name, call=self._call())

    def _pipeline(self) -> QueryPipeline:
        stream, offset = self._stream, self._stream.next.offset
        with stream.nested():
            if self._is_at_beginning():
                operators = (self._operator(), *self._operators_behind())
                return QueryPipeline(offset, None, operators)
            source = self._source()
            return QueryPipeline(offset, source, self._operators_behind())

    def _is_at_table(self) -> bool:
        """Return whether a pipeline comes: no scalar has a '|' but within its own brackets."""
        stream = self._stream
        depth = stream.pipe_depth()
        is_bracket = depth == 1 and stream.is_at("(")
        is_table = depth == 0 or is_bracket or self._is_at_beginning()
        is_call = (
            stream.is_at("materialize", "database", *self._tabular()) and stream.after().text == "("
        )
        return is_table or is_call

    def _tabular(self) -> list[str]:
        """Return the functions of let that yield tables."""
        functions = self._names.functions.items()
        return [name for name, f in functions if isinstance(f.body, QueryPipeline)]

    def _is_at_beginning(self) -> bool:
        """Return whether an operator comes that needs no table; a dataset may be called range."""
        stream = self._stream
        is_range = stream.is_at("range") and stream.after().kind == "name"
        is_table = stream.is_at("datatable") and stream.after().text == "("
        return is_range or is_table or stream.is_at(*_BEGINNINGS)

    def _source(self) -> TableSource:
        stream = self._stream
        # Whether a table is computed once is left to the engine.
        if stream.is_at("materialize") and stream.after().text == "(":
            stream.take()
        if opened := stream.accept("("):
            pipeline = self._pipeline()
            if stream.next.kind == "end":
                stream.fail("a bracket is not closed", "add ')'", opened)
            stream.expect(")", "close the bracket of the inner query")
            return pipeline
        self._sources += 1
        if self._sources > SOURCES_MAX:
            stream.fail("the query reads too many tables", f"at most {SOURCES_MAX} are read")
        token, database = stream.next, None
        if token.kind == "name" and stream.after().text == "(":
            if token.text != "database":
                return self._call()
            database = self._database()
            if stream.accept("*"):
                return GroupTables(token.offset, database)
        name = stream.name("a dataset or a view").text
        # A dataset's signal: web.logs.
        while stream.accept("."):
            name = f"{name}.{stream.name('a signal').text}"
        return Name(token.offset, name, database)

    def _database(self) -> str:
        """Read `database('group').`."""
        stream, hint = self._stream, "write: database('group').name"
        stream.take()
        stream.expect("(", hint)
        if not stream.is_at_text():
            stream.fail(f"expected the name of a group in quotes, found {stream.found()}", hint)
        database = str(stream.take().value)
        stream.expect(")", hint)
        stream.expect(".", hint)
        return database

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
        # The shape is the name of the method that reads it.
        read: Callable[[int, str], Operator] = getattr(self, OPERATORS[name].shape)
        return read(token.offset, name)

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
        return Operator(offset, name, sources=_pipelines(sources), parameters=parameters)

    def search(self, offset: int, name: str) -> Operator:
        """Read `kind=case_sensitive in (table, ...) condition`."""
        parameters = self._parameters()
        sources: tuple[TableSource, ...] = ()
        if self._stream.accept("in"):
            self._stream.expect("(", "write: search in (dataset, ...) 'text'")
            sources = self._stream.list_of(self._source)
            self._stream.expect(")", "close the bracket, or put ',' between tables")
        items = (Item(self._expressions.expression()),)
        return Operator(
            offset, name, items=items, sources=_pipelines(sources), parameters=parameters
        )

    def _parameters(self) -> dict[str, str]:
        stream, parameters = self._stream, dict[str, str]()
        while stream.next.text in _PARAMETERS and stream.after().text in ("=", "."):
            name = stream.take().text
            while stream.accept("."):
                name = f"{name}.{stream.take().text}"
            stream.expect("=", "write: kind=inner")
            parameters[name] = stream.take().text
        return parameters


def _pipelines(sources: Sequence[TableSource]) -> tuple[QueryPipeline, ...]:
    return tuple(s if isinstance(s, QueryPipeline) else QueryPipeline(s.offset, s) for s in sources)
