"""Well-typed expressions, drawn from the table of operators and functions."""

from collections.abc import Callable

from hypothesis import strategies as st

from kql.catalog.signatures import Parameter, signature
from kql.catalog.table import FUNCTIONS, INFIX
from kql.types import NUMBERS, ORDERED, TYPES, KqlType
from tests.support.kql.rows import COLUMNS

Draw = Callable[[st.SearchStrategy[str]], str]
TEXTS = ("'GET'", "''", "'a b'", '"O\'Brien"', r"@'\d'", "'ö'", "'100%_'", "'$1'", "'x.y'",
         r"'a\nb'", "'\U0001f600 z'", "'5'", "'-3.5'", "'2026-01-31'", "'true'")  # fmt: skip
LITERALS: dict[str, tuple[str, ...]] = {
    "bool": ("true", "false", "bool(null)"),
    "int": ("int(0)", "int(1)", "int(-3)", "int(2147483647)", "int(-2147483648)", "int(null)"),
    "long": ("0", "1", "-7", "1000", "9223372036854775807", "long(-9223372036854775808)",
             "long(null)"),
    "real": ("0.0", "1.5", "-2.25", "1e10", "real(nan)", "real(-inf)", "real(null)"),
    "string": TEXTS,
    "datetime": ("datetime(2026-01-31T12:30:15.250001Z)", "datetime(1969-12-31T23:59:59Z)",
                 "datetime(2024-02-29)", "datetime(null)"),
    "timespan": ("0s", "1tick", "1500microsecond", "5m", "1.5h", "7d", "-1d", "timespan(null)"),
    "guid": ("guid(74be27de-1e4e-49d9-b579-fe0b331d3642)", "guid(null)"),
    "dynamic": ("dynamic([1,\"x\",null])", "dynamic({\"a\":{\"b\":2}})", "dynamic(null)"),
    "regex": ("'([A-Z]+)'", "'(a)|(b)'", r"@'\s'", "'^$'", "'(?i)cart'", "'.'", "'x*'", r"@'\.'"),
    "rewrite": ("''", "'-'", r"@'<\0>'", "'$1'"),
    "separator": ("' '", "'/'", "'.'", "'art'", "'|'"),
    "width": ("1microsecond", "1s", "1h", "1d", "7d"),
}  # fmt: skip
# Functions whose calls are written here, since no signature describes them; `{type}` is an operand.
_WRITTEN: dict[KqlType, tuple[str, ...]] = {
    "bool": ("tobool({string})", "tobool({long})", "isnull({long})", "isnotnull({dynamic})",
             "{bool} and {bool}", "{bool} or {bool}", "iff({bool}, {bool}, {bool})",
             "{long} in (1, 7, -7)", "{string} !in ('', 'GET /Cart')",
             "{string} in~ ('get /cart', 'x')", "{long} between (-7 .. 7)",
             "{datetime} !between (datetime(2000-01-01) .. 9000d)", "{string} has_any ('get', 'x')",
             "{dynamic} == {long}", "{dynamic} != {string}", "{string} =~ {string}"),
    "int": ("toint({string})", "toint({long})", "toint({real})", "toint({bool})",
            "iff({bool}, {int}, {int})"),
    "long": ("tolong({string})", "tolong({real})", "tolong({dynamic})", "{long} % {long}",
             "{long} + {long}", "{long} * {int}", "{long} / {long}", "-{int}", "-{long}",
             "bin({long}, 4)", "{int} + {int}",
             "coalesce({long}, {int})", "case({bool}, {long}, {bool}, {int}, {long})",
             "datetime_diff('hour', {datetime}, {datetime})",
             "datetime_diff('month', {datetime}, {datetime})"),
    "real": ("todouble({string})", "todouble({bool})", "{real} + {int}", "{real} / {real}",
             "{real} * {long}", "{timespan} / {timespan}", "toreal({long})"),
    "string": ("tostring({long})", "tostring({bool})", "tostring({datetime})", "tostring({guid})",
               "strcat({string}, {long}, {bool})", "trim(' ', {string})",
               "trim_start('G', {string})", "trim_end('t', {string})",
               "iff({bool}, {string}, {string})", "coalesce({string}, {string})",
               "format_datetime({datetime}, 'yyyy-MM-dd HH:mm:ss.fff')", "tostring(j.c[1])"),
    "datetime": ("todatetime({string})", "{datetime} + {timespan}", "{datetime} - {timespan}",
                 "iff({bool}, {datetime}, {datetime})"),
    "timespan": ("{datetime} - {datetime}", "{timespan} + {timespan}", "{timespan} * {int}",
                 "{timespan} % {timespan}", "{timespan} / {long}", "-{timespan}"),
    "guid": ("toguid({string})", "iff({bool}, {guid}, {guid})"),
    "dynamic": ("j.a", "j['http.route']", "j.c[0]", "j.d.e", "split({string}, ' ')"),
}  # fmt: skip
# Reals print, round and divide to the last digit as each engine does.
_LEFT_OUT = frozenset(
    [
        *("round", "now", "ago", "sin", "cos", "tan", "cot", "asin", "acos", "atan", "atan2"),
        *("degrees", "radians", "exp2", "exp10", "pi"),
    ]
)
_COMPARED = ("==", "!=", "<", "<=", ">", ">=")


@st.composite
def expressions(draw: Draw, type_: KqlType, depth: int = 3) -> str:
    """Draw an expression of a type."""
    if depth == 0:
        return draw(st.sampled_from(_leaves(type_)))
    template = draw(st.sampled_from((*_leaves(type_), *_templates(type_))))
    text, rest = "", template
    while "{" in rest:
        before, _, rest = rest.partition("{")
        wanted, brace, rest = rest.partition("}")
        text += before
        if wanted in TYPES:
            text += draw(expressions(wanted, depth - 1))
        else:
            text += f"{{{wanted}{brace}"
    return f"({text}{rest})" if text else rest


def _leaves(type_: str) -> tuple[str, ...]:
    columns = tuple(name for name, of in COLUMNS.items() if of == type_)
    return columns * 3 + LITERALS[type_]


def _templates(type_: KqlType) -> list[str]:
    """Return calls and operators that give a type, with `{type}` for operands."""
    found = list(_WRITTEN[type_])
    for name, function in FUNCTIONS.items():
        if not function.is_aggregate and name not in _LEFT_OUT:
            found += _calls(name, function.signatures, type_)
    if type_ == "bool":
        found += [f"{{{of}}} {operator} {{{of}}}" for of in ORDERED for operator in _COMPARED]
        found += [
            f"{{string}} {name} {constant}"
            for name, operator in INFIX.items()
            if operator.signatures and operator.shape == "one" and not name.endswith("~")
            for constant in (LITERALS["regex"] if name == "matches regex" else TEXTS)[:4]
        ]
    return found


def _calls(name: str, signatures: tuple[str, ...], type_: KqlType) -> list[str]:
    found = []
    for text in signatures:
        parsed = signature(text, name)
        if parsed.result == type_:
            arguments = ", ".join(_argument(p, n) for n, p in enumerate(parsed.parameters))
            found.append(f"{name}({arguments})")
    return found


def _argument(parameter: Parameter, number: int) -> str:
    if parameter.type == "any":
        return "{long}"
    if parameter.type == "long" and parameter.is_constant:
        return "1" if number else "0"
    if parameter.type not in TYPES:
        return LITERALS[parameter.type][number % 2]
    return LITERALS[parameter.type][0] if parameter.is_constant else f"{{{parameter.type}}}"


def wrong(type_: KqlType) -> tuple[KqlType, ...]:
    """Return types that do not stand where a type is needed."""
    free = {type_, "dynamic"} | (set(NUMBERS) if type_ in NUMBERS else set())
    return tuple(other for other in TYPES if other not in free)
