"""SQL of hidden columns: of an automatic column, or of the JSON that it stands for."""

from sqlglot import exp

from kql.functions import dynamics
from kql.pushdown.automatic import HiddenColumn
from kql.sql.engines import ENGINES, EngineName
from kql.sql.expressions import ExpressionWriter, to_text
from kql.typed import Apply, ColumnValue, Constant, Expression, Member, Promoted, rebuilt

# Conversions of a whole number that is a JSON number, by the templates of those of dynamic values.
_OF_LONGS = {
    "dynamic_to_string": "to_string",
    "dynamic_is_number": "isnotnull",
    "dynamic_to_int": "long_to_int",
    "dynamic_to_number": "to_real",
    "dynamic_to_real": "to_real",
}


def hidden_sql(hidden: HiddenColumn, column: Promoted | None, engine: EngineName) -> str:
    """Return the value of a hidden column: of an automatic column, None = of the attributes."""
    value = hidden.value
    if column is not None and hidden.is_prefilter:
        value = Constant(True, "bool")
    elif column is not None:
        value = _of_longs(value, column) if column.type == "long" else _of_texts(value, column)
    writer = ExpressionWriter(ENGINES[engine], _column)
    return to_text(writer.value(value), engine)


def _of_longs(conversion: Expression, column: Promoted) -> Expression:
    assert isinstance(conversion, Apply)
    number = ColumnValue(column.name, "long")
    if conversion.template == "dynamic_to_long":
        return number
    return Apply(_OF_LONGS[conversion.template], (number,), conversion.type)


def _of_texts(expression: Expression, column: Promoted) -> Expression:
    """Return a conversion of JSON as one of the text of a JSON string."""
    match expression:
        case Apply(template="dynamic_to_string", arguments=(Member(),)):
            return ColumnValue(column.name, "string")
        case Apply(template="dynamic_is_number", arguments=(Member(),)):
            return Constant(False, "bool")
        case Apply() if (expanded := dynamics.expanded(expression)) is not None:
            return _of_texts(expanded, column)
        case _:
            return rebuilt(expression, lambda part: _of_texts(part, column))


def _column(name: str) -> exp.Expression:
    return exp.Column(this=exp.to_identifier(name, quoted=True))
