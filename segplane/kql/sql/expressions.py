"""Typed expressions as sqlglot's, for one engine."""

from collections.abc import Callable
from math import isinf, isnan

from sqlglot import exp

from segplane.kql.errors import NotOnEngine
from segplane.kql.sql.common import PAIRS, PLAIN, TOTAL
from segplane.kql.sql.engines import Engine
from segplane.kql.sql.generator import Raw, SqlPattern
from segplane.kql.typed import (
    Among,
    Apply,
    Choice,
    ColumnValue,
    Constant,
    Expression,
    Logic,
    Member,
    Not,
)

# Null where both sides are; false or true where one is.
_PAIR = "CASE WHEN NOT (<0> IS NULL AND <1> IS NULL) THEN COALESCE({}, FALSE) END"
_WIDTHS = {"int": "INT", "long": "BIGINT", "timespan": "BIGINT"}


class ExpressionWriter:
    """Writes expressions over columns, each of which `column` names in SQL."""

    def __init__(self, engine: Engine, column: Callable[[str], exp.Expression]) -> None:
        self._engine = engine
        self._column = column

    def condition(self, expression: Expression) -> exp.Expression:
        """Write a condition of a filter, where null is as good as false."""
        if isinstance(expression, Logic):
            return self._joined(expression, self.condition)
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
        if apply.template == "dynamic_to_string" and isinstance(apply.arguments[0], Member):
            return self._member(apply.arguments[0], "member_text")
        return SqlPattern(this=self.pattern(apply), expressions=self._arguments(apply))

    def _arguments(self, apply: Apply) -> list[exp.Expression]:
        is_plain = apply.template in PLAIN
        return [self.value(argument, is_plain=is_plain) for argument in apply.arguments]

    def pattern(self, apply: Apply) -> str:
        """Return the SQL pattern of a template. Raises NotOnEngine."""
        found = self._engine.patterns.get(apply.template)
        if found is None:
            name = apply.source or apply.template
            what = f"{name} is not available on {self._engine.name}"
            raise NotOnEngine(apply.offset, what, "run the query on duckdb, or leave it out")
        return found

    def _member(self, member: Member, template: str) -> exp.Expression:
        path = exp.Literal.string(self._engine.path(member.keys))
        pattern = self._engine.patterns[template]
        return SqlPattern(this=pattern, expressions=[self.value(member.base), path])

    def _constant(self, constant: Constant, *, is_plain: bool) -> exp.Expression:
        value, type_ = constant.value, constant.type
        if value is None:
            return Raw(this=f"CAST(NULL AS {self._engine.types[type_]})")
        if isinstance(value, bool):
            return exp.Boolean(this=value)
        if isinstance(value, float):
            return Raw(this=_real(value))
        if type_ == "datetime":
            return Raw(this=self._engine.time(int(value)))
        if isinstance(value, int):
            # A bare number is as narrow as it can be, and sums of such overflow.
            return Raw(this=str(value) if is_plain else f"CAST({value} AS {_WIDTHS[type_]})")
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
