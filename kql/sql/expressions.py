"""Typed expressions as sqlglot's, and the generators that write them for each engine."""

import re
from collections.abc import Callable
from functools import cache
from math import isinf, isnan
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from kql.errors import KqlError, NotOnEngine
from kql.functions import dynamics
from kql.pushdown.prefilters import prefilter
from kql.sql.common import PAIRS, PLAIN, TOTAL
from kql.sql.engines import ENGINES, Engine, EngineName
from kql.typed import Among, Apply, Choice, ColumnValue, Constant, Expression, Logic, Member, Not

SQL_CHARACTERS_MAX = 200_000
_ARGUMENT = re.compile(r"<(\d+|\*)>")


class SqlPattern(exp.Expression):
    """An SQL pattern with arguments; `this` is its text."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": False}


def _write(generator: Any, node: exp.Expression) -> str:
    arguments = [generator.sql(argument) for argument in node.expressions]

    def argument(match: re.Match[str]) -> str:
        return ", ".join(arguments) if match[1] == "*" else arguments[int(match[1])]

    text = _ARGUMENT.sub(argument, str(node.args["this"]))
    # Patterns name an argument more than once, so nested ones may double at every level.
    if len(text) > SQL_CHARACTERS_MAX:
        hint = f"at most {SQL_CHARACTERS_MAX:,} are written: compute parts of it with extend"
        raise KqlError(0, "an expression has too many characters in SQL", hint)
    return text


@cache
def _generator(engine: EngineName) -> Any:
    base = Dialect.get_or_raise(engine).generator_class
    transforms = {**base.TRANSFORMS, SqlPattern: _write}
    return type(f"{engine}Generator", (base,), {"TRANSFORMS": transforms})


def to_text(
    tree: exp.Expression | exp.Query, engine: EngineName, *, is_pretty: bool = False
) -> str:
    """Return the SQL text of a tree for an engine."""
    assert engine in ENGINES
    generator = _generator(engine)(
        dialect=Dialect.get_or_raise(engine), identify=True, pretty=is_pretty
    )
    text: str = generator.generate(tree)
    return text


# Null where both sides are; false or true if one is.
_PAIR = "CASE WHEN NOT (<0> IS NULL AND <1> IS NULL) THEN COALESCE({}, FALSE) END"
# Patterns that read a member themselves, rather than its value as JSON.
_OF_MEMBERS = {"dynamic_to_string": "member_text", "dynamic_is_number": "member_is_number"}
_WIDTHS = {"int": "INT", "long": "BIGINT", "timespan": "BIGINT"}


class ExpressionWriter:
    """Writes expressions over columns, each of which `column` names in SQL."""

    def __init__(self, engine: Engine, column: Callable[[str], exp.Expression]) -> None:
        self._engine = engine
        self._column = column

    def condition(self, expression: Expression) -> exp.Expression:
        """Write a condition of a filter, which treats null like false."""
        if isinstance(expression, Logic):
            return self._joined(expression, self.condition)
        before = prefilter(expression) if self._engine.has_prefilters else None
        if before is not None:
            both = [self.condition(before), self._bare_condition(expression)]
            return SqlPattern(this="(<0> AND <1>)", expressions=both)
        return self._bare_condition(expression)

    def _bare_condition(self, expression: Expression) -> exp.Expression:
        if isinstance(expression, Among):
            return self._among(expression)
        if isinstance(expression, Apply) and expression.template in TOTAL | PAIRS:
            return self._bare(expression)
        return self.value(expression)

    def value(self, expression: Expression, *, is_plain: bool = False) -> exp.Expression:
        """Write an expression; constants are as wide as their type unless they may be plain."""
        match expression:
            case ColumnValue():
                return self._column(expression.name)
            case Constant():
                return self._constant(expression, is_plain=is_plain)
            case Member():
                return self._member(expression, "member")
            case Apply():
                return self._apply(expression)
            case Logic():
                return self._joined(expression, self.value)
            case Not():
                return exp.Paren(this=exp.Not(this=self.value(expression.operand)))
            case Among():
                return _or_false(self._among(expression))
            case Choice():
                return self._choice(expression)

    def _joined(
        self, logic: Logic, write: Callable[[Expression], exp.Expression]
    ) -> exp.Expression:
        # A list in one pattern: a tree of a thousand conditions would be as deep.
        separator = f" {logic.operator.upper()} "
        text = separator.join(f"<{n}>" for n in range(len(logic.parts)))
        return SqlPattern(this=f"({text})", expressions=[write(part) for part in logic.parts])

    def _among(self, among: Among) -> exp.Expression:
        options = [self.value(option, is_plain=True) for option in among.options]
        return exp.In(this=self.value(among.value), expressions=options)

    def _choice(self, choice: Choice) -> exp.Expression:
        branches = [
            exp.If(this=self.value(condition), true=self.value(value))
            for condition, value in choice.branches
        ]
        return exp.Case(ifs=branches, default=self.value(choice.otherwise))

    def _apply(self, apply: Apply) -> exp.Expression:
        if apply.template in TOTAL:
            return _or_false(self._bare(apply))
        if apply.template in PAIRS:
            pattern = _PAIR.format(self.pattern(apply))
            return SqlPattern(this=pattern, expressions=self._arguments(apply))
        return self._bare(apply)

    def _bare(self, apply: Apply) -> exp.Expression:
        expanded = dynamics.expanded(apply)
        if expanded is not None:
            return self.value(expanded)
        if apply.template in _OF_MEMBERS and isinstance(apply.arguments[0], Member):
            return self._member(apply.arguments[0], _OF_MEMBERS[apply.template])
        return SqlPattern(this=self.pattern(apply), expressions=self._arguments(apply))

    def _arguments(self, apply: Apply) -> list[exp.Expression]:
        is_plain = apply.template in PLAIN
        return [self.value(argument, is_plain=is_plain) for argument in apply.arguments]

    def pattern(self, apply: Apply) -> str:
        """Return the SQL pattern of a template. Raises NotOnEngine."""
        pattern = self._engine.patterns.get(apply.template)
        if pattern is None:
            name = apply.source or apply.template
            what = f"{name} is not available on {self._engine.name}"
            raise NotOnEngine(apply.offset, what, "run the query on duckdb, or leave it out")
        return pattern

    def _member(self, member: Member, template: str) -> exp.Expression:
        path, flat = (
            exp.Literal.string(self._engine.path(keys)) for keys in (member.keys, member.flat)
        )
        pattern = self._engine.patterns[template]
        base = self.value(member.base)
        value = SqlPattern(this=pattern, expressions=[base, path])
        if not member.flat:
            return value
        is_present = SqlPattern(
            this=self._engine.patterns["member_is_present"], expressions=[base.copy(), path.copy()]
        )
        other = SqlPattern(this=pattern, expressions=[base.copy(), flat])
        return exp.Case(ifs=[exp.If(this=is_present, true=value)], default=other)

    def _constant(self, constant: Constant, *, is_plain: bool) -> exp.Expression:
        value, type_ = constant.value, constant.type
        if value is None:
            return SqlPattern(this=f"CAST(NULL AS {self._engine.types[type_]})")
        if isinstance(value, bool):
            return exp.Boolean(this=value)
        if isinstance(value, float):
            return SqlPattern(this=_real(value))
        if type_ == "datetime":
            return SqlPattern(this=self._engine.time(int(value)))
        if isinstance(value, int):
            # A bare number is as narrow as it can be, and sums of such overflow.
            return SqlPattern(this=str(value) if is_plain else f"CAST({value} AS {_WIDTHS[type_]})")
        if constant.role == "regex":
            value = self._engine.regex(value)
        elif constant.role == "rewrite":
            value = self._engine.rewrite(value)
        return exp.Literal.string(value)


def _or_false(condition: exp.Expression) -> exp.Expression:
    return exp.Coalesce(this=condition, expressions=[exp.false()])


def _real(value: float) -> str:
    if isnan(value):
        return "CAST('NaN' AS DOUBLE)"
    if isinf(value):
        return f"CAST('{'-' if value < 0 else ''}Infinity' AS DOUBLE)"
    text = repr(value)
    return text if "e" in text else f"{text}E0"
