"""The one table of operators and functions: parser, types, translation and documentation read it.

A signature is written `int long -> real: template`. Words before the arrow are parameters: a type,
`number`, `ordered`, `any`, or `T`, which all arguments of that word share. `const` means that the
argument is known before the query runs, `regex` that it is a regular expression, `?` that it may be
left out, `...` that the last may be repeated. The template is the name of an SQL pattern of each
engine, by default the function's own name; a rule of `segplane.kql.functions` stands for what no
signature says.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

Shape = Literal["one", "list", "range"]


@dataclass(frozen=True, slots=True)
class TabularOperator:
    """An operator of a pipeline; `shape` names how it is read."""

    name: str
    shape: str
    syntax: str
    summary: str
    is_row_by_row: bool = False


@dataclass(frozen=True, slots=True)
class InfixOperator:
    """An operator between values; the higher precedence binds more tightly."""

    name: str
    precedence: int
    summary: str
    signatures: tuple[str, ...] = ()
    shape: Shape = "one"


@dataclass(frozen=True, slots=True)
class Function:
    """A function; `rule` names what types it where signatures do not."""

    name: str
    summary: str
    signatures: tuple[str, ...] = ()
    rule: str = ""
    is_aggregate: bool = False
    # now() and ago() differ from run to run: a projection's rows must not.
    is_row_by_row: bool = True

    @property
    def shown(self) -> str:
        """The signatures, for people."""
        shown = (s.partition(":")[0].strip() for s in self.signatures)
        return "; ".join(shown) or "see below"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a signature."""

    type: str
    is_constant: bool = False
    is_optional: bool = False
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """Types of arguments, and of the result with its SQL pattern."""

    parameters: tuple[Parameter, ...]
    result: str
    template: str


@cache
def signature(text: str, name: str) -> Signature:
    """Read a signature of the table."""
    left, _, right = text.partition("->")
    result, _, template = (part.strip() for part in right.partition(":"))
    parameters, is_constant = [], False
    for word in left.split():
        if word == "const":
            is_constant = True
            continue
        bare = word.rstrip("?.")
        parameters.append(
            Parameter(bare, is_constant or bare == "regex", "?" in word, word.endswith("..."))
        )
        is_constant = False
    return Signature(tuple(parameters), result, template or name)


_TABULAR = (
    ("where", "condition", "where *condition*", "Keeps the rows for which it is true", True),
    ("extend", "items", "extend *name* = *expression*, ...", "Adds or replaces columns; an item sees those before it", True),
    ("project", "items", "project *name* = *expression*, ...", "Keeps these columns, in this order", True),
    ("project-away", "names", "project-away *name*, *prefix\\**", "Drops columns", True),
    ("project-keep", "names", "project-keep *name*, *prefix\\**", "Keeps columns, in their own order", True),
    ("project-rename", "renames", "project-rename *new* = *old*, ...", "Renames columns", True),
    ("project-reorder", "names", "project-reorder *name*, *prefix\\**", "Puts columns first", True),
    ("parse", "parse", "parse *text* with 'GET ' path:string ' ' status:long *", "Reads columns out of a text; null or empty where it does not match", True),
    ("parse-where", "parse", "parse-where *text* with ...", "The same, and drops rows that do not match", True),
    ("mv-expand", "expand", "mv-expand *name* = *array* to typeof(long)", "A row for each element of an array and for each property of an object; one with null for an empty one and for anything else", True),
    ("summarize", "summarize", "summarize *aggregate*, ... by *expression*, ...", "Aggregates, by group", False),
    ("sort", "sort", "sort by *expression* asc nulls last, ...", "Orders rows; descending unless said otherwise", False),
    ("top", "top", "top 10 by *expression*", "The first rows in an order", False),
    ("take", "count", "take 10", "Some rows", False),
    ("distinct", "items", "distinct *expression*, ... or *", "Different rows", False),
    ("count", "bare", "count", "The number of rows, as Count", False),
    ("union", "union", "union kind=outer *table*, ...", "Rows of all; columns by name, kind=inner the common ones", False),
    ("join", "join", "join kind=inner (*table*) on *column*, $left.a == $right.b", "innerunique (default), inner, leftouter, rightouter, fullouter, leftsemi, leftanti, rightsemi, rightanti", False),
    ("lookup", "join", "lookup (*table*) on *column*", "leftouter (default) or inner join without the right keys", False),
    ("print", "items", "print *name* = *expression*, ...", "One row", False),
    ("getschema", "bare", "getschema", "Names and types of the columns", False),
    ("render", "ignored", "render ...", "Accepted and ignored", False),
    ("serialize", "ignored", "serialize", "Accepted and ignored", False),
    ("as", "ignored", "as *name*", "Accepted and ignored", False),
)  # fmt: skip
OPERATORS = {row[0]: TabularOperator(*row) for row in _TABULAR}
SYNONYMS = {"filter": "where", "order": "sort", "limit": "take"}

_TEXT = "string const string -> bool: {0}"
_INFIX = (
    InfixOperator("or", 1, "Either"),
    InfixOperator("and", 2, "Both"),
    InfixOperator("==", 3, "Equal; null equals nothing but null, which gives null"),
    InfixOperator("!=", 3, "Not equal; true where one side is null"),
    InfixOperator("<>", 3, "The same as !="),
    InfixOperator("<", 3, "Less; null beside null, false beside NaN"),
    InfixOperator("<=", 3, "Less or equal"),
    InfixOperator(">", 3, "Greater"),
    InfixOperator(">=", 3, "Greater or equal"),
    InfixOperator("=~", 3, "Equal texts, whatever the case", ("string string -> bool: eq_ci",)),
    InfixOperator("!~", 3, "Not so", ("string string -> bool: eq_ci",)),
    InfixOperator("in", 3, "One of the values", shape="list"),
    InfixOperator("!in", 3, "None of the values", shape="list"),
    InfixOperator("in~", 3, "One of the texts, whatever the case", shape="list"),
    InfixOperator("!in~", 3, "None of the texts, whatever the case", shape="list"),
    InfixOperator("between", 3, "In a range, both ends included", shape="range"),
    InfixOperator("!between", 3, "Outside of a range", shape="range"),
    InfixOperator("has_any", 3, "Has one of the terms", (_TEXT.format("has"),), "list"),
    InfixOperator("has_all", 3, "Has all of the terms", (_TEXT.format("has"),), "list"),
    InfixOperator("matches regex", 3, "Some part matches a regular expression (RE2)",
                  ("string regex -> bool: match",)),
    InfixOperator("+", 4, "Sum; null beyond the type's range"),
    InfixOperator("-", 4, "Difference"),
    InfixOperator("*", 5, "Product"),
    InfixOperator("/", 5, "Quotient; of whole numbers truncated, by zero null; of reals by zero infinite or NaN"),
    InfixOperator("%", 5, "Remainder, never below zero; by zero null"),
)  # fmt: skip
_TERMS = {
    "contains": "Has the text somewhere",
    "has": "Has the text as a term, between characters that are no letters and digits",
    "hasprefix": "Has a term that begins with the text",
    "hassuffix": "Has a term that ends with the text",
    "startswith": "Begins with the text",
    "endswith": "Ends with the text",
}
INFIX = {operator.name: operator for operator in _INFIX} | {
    f"{sign}{word}{case}": InfixOperator(
        f"{sign}{word}{case}",
        3,
        ("Not: " if sign else "") + summary + (", case counts" if case else ""),
        (_TEXT.format(word + case),),
    )
    for word, summary in _TERMS.items()
    for case in ("", "_cs")
    for sign in ("", "!")
}


def _scalar(name: str, summary: str, *signatures: str) -> Function:
    return Function(name, summary, signatures)


def _ruled(name: str, summary: str, rule: str, *, is_aggregate: bool = False) -> Function:
    return Function(name, summary, rule=rule, is_aggregate=is_aggregate)


def _aggregate(name: str, summary: str, *signatures: str) -> Function:
    return Function(name, summary, signatures, is_aggregate=True)


_CONVERSIONS = {
    "tostring": "string", "toint": "int", "tolong": "long", "todouble": "real", "toreal": "real",
    "tobool": "bool", "todatetime": "datetime", "toguid": "guid",
}  # fmt: skip
_SCALARS = (
    *(_ruled(name, f"Converts to {type_}; null where that fails", f"to {type_}")
      for name, type_ in _CONVERSIONS.items()),
    _scalar("not", "Turns a condition; null stays null", "bool -> bool"),
    _ruled("iff", "iff(condition, then, else)", "iff"),
    _ruled("iif", "The same as iff", "iff"),
    _ruled("case", "case(condition, value, ..., otherwise)", "case"),
    _ruled("coalesce", "The first that is not null; of texts, not empty", "coalesce"),
    _scalar("isempty", "Null or an empty text", "string -> bool", "any -> bool: isnull"),
    _scalar("isnotempty", "Neither null nor an empty text", "string -> bool", "any -> bool: isnotnull"),
    _scalar("notempty", "The same as isnotempty", "string -> bool: isnotempty", "any -> bool: isnotnull"),
    _ruled("isnull", "Null; no text is, see isempty", "isnull"),
    _ruled("isnotnull", "Not null", "isnotnull"),
    _scalar("isnan", "Not a number", "real -> bool"),
    _ruled("attribute", "attribute(attributes, 'user.id'): an attribute as a text, whatever dots its key has", "attribute"),
    _ruled("strcat", "Joins values as texts; null is empty", "strcat"),
    _ruled("strcat_delim", "strcat_delim(delimiter, value, ...): joins values as texts with a delimiter between them", "strcat_delim"),
    _scalar("strlen", "Length in characters (code points)", "string -> long"),
    _scalar("substring", "From a position, counted from 0, below 0 from the end", "string long -> string", "string long long -> string: substring_of"),
    _scalar("tolower", "Lower case", "string -> string"),
    _scalar("toupper", "Upper case", "string -> string"),
    _scalar("extract", "extract(regex, group, text): a group of the first match, or empty", "regex const long string -> string"),
    _scalar("replace_string", "replace_string(text, old, new)", "string string string -> string"),
    _scalar("replace_regex", "replace_regex(text, regex, rewrite): \\1 is the first group", "string regex const rewrite -> string"),
    _scalar("split", "Parts between a separator, an array", "string const separator -> dynamic"),
    _ruled("trim", "trim(regex, text): without what matches at both ends", "trim"),
    _ruled("trim_start", "The same at the beginning", "trim"),
    _ruled("trim_end", "The same at the end", "trim"),
    Function("now", "The time at which the query began, and a timespan from there", ("const timespan? -> datetime",), "now", is_row_by_row=False),
    Function("ago", "ago(1h): that long before now", ("const timespan -> datetime",), "now", is_row_by_row=False),
    _scalar("bin", "Rounds down to a multiple; null if that is not above zero", "datetime const width -> datetime: bin_datetime", "timespan timespan -> timespan: bin_whole", "long long -> long: bin_whole", "real real -> real: bin_real"),
    _scalar("floor", "The same as bin", "datetime const width -> datetime: bin_datetime", "timespan timespan -> timespan: bin_whole", "long long -> long: bin_whole", "real real -> real: bin_real"),
    _scalar("startofday", "The midnight before (UTC)", "datetime -> datetime"),
    _scalar("startofweek", "The Sunday before", "datetime -> datetime"),
    _scalar("startofmonth", "The first of the month", "datetime -> datetime"),
    _scalar("startofyear", "The first of January", "datetime -> datetime"),
    _ruled("datetime_diff", "datetime_diff('hour', to, from): boundaries crossed", "datetime_diff"),
    _ruled("format_datetime", "format_datetime(time, 'yyyy-MM-dd HH:mm:ss.fff')", "format_datetime"),
    _scalar("parse_json", "A text as JSON; what is none becomes a text in JSON", "string -> dynamic", "dynamic -> dynamic: same"),
    _scalar("todynamic", "The same as parse_json", "string -> dynamic: parse_json", "dynamic -> dynamic: same"),
    _scalar("array_length", "Elements of an array; null of anything else", "dynamic -> long"),
    _scalar("abs", "Without sign", "long -> long: abs", "real -> real: abs", "timespan -> timespan: abs"),
    _scalar("round", "round(number, digits): halves away from zero", "real -> real: round_whole", "real const long -> real"),
    _scalar("sqrt", "Square root; null below zero", "real -> real"),
    _scalar("pow", "pow(base, exponent)", "real real -> real"),
    _scalar("exp", "The natural exponential", "real -> real"),
    _scalar("log", "Natural logarithm; null where it is not above zero", "real -> real"),
    _scalar("log2", "Logarithm to base 2", "real -> real"),
    _scalar("log10", "Logarithm to base 10", "real -> real"),
    _ruled("hourofday", "The hour, 0 to 23 (UTC)", "part_of_date"),
    _ruled("dayofweek", "The days since Sunday, a timespan", "part_of_date"),
    _ruled("dayofmonth", "The day of the month, from 1 on", "part_of_date"),
    _ruled("dayofyear", "The day of the year, from 1 on", "part_of_date"),
    _ruled("monthofyear", "The month, 1 to 12", "part_of_date"),
    _ruled("getyear", "The year", "part_of_date"),
)  # fmt: skip
_SUMS = (
    "int {1} -> long: {0}",
    "long {1} -> long: {0}",
    "real {1} -> real: {0}_real",
    "timespan {1} -> timespan: {0}",
)
_MEANS = ("real {1} -> real: {0}", "timespan {1} -> timespan: {0}_timespan")


def _pair(name: str, summary: str, *signatures: str) -> tuple[Function, Function]:
    """Return an aggregate and the one that counts only rows for which a condition holds."""
    plain = tuple(s.format(name, "") for s in signatures)
    conditional = tuple(s.format(f"{name}if", "bool") for s in signatures)
    return (
        _aggregate(name, summary, *plain),
        _aggregate(f"{name}if", f"{summary}; where the condition holds", *conditional),
    )


_AGGREGATES = (
    _aggregate("count", "Rows", "-> long: count_rows", "any -> long: count"),
    _aggregate("countif", "Rows for which it is true", "bool -> long"),
    *_pair("dcount", "Different values, exactly; a text counts null as ''", "any {1} -> long: {0}"),
    _aggregate("count_distinct", "The same as dcount", "any -> long: dcount"),
    *_pair("sum", "Sum; 0 over nothing", *_SUMS),
    *_pair("avg", "Mean", *_MEANS),
    *_pair("min", "The least; null over nothing", "ordered {1} -> T: {0}"),
    *_pair("max", "The greatest", "ordered {1} -> T: {0}"),
    *_pair("stdev", "Standard deviation of a sample; 0 over nothing", "real {1} -> real: {0}"),
    *_pair("variance", "Variance of a sample; 0 over nothing", "real {1} -> real: {0}"),
    *_pair("take_any", "Some value", "any {1} -> T: {0}"),
    _aggregate("any", "The same as take_any", "any -> T: take_any"),
    _ruled("percentile", "percentile(value, 95): nearest rank", "percentile", is_aggregate=True),
    _ruled("percentiles", "percentiles(value, 50, 95): a column each", "percentile", is_aggregate=True),
    _ruled("arg_max", "arg_max(key, column, ... or *): of the row with the greatest key", "arg", is_aggregate=True),
    _ruled("arg_min", "The same with the least", "arg", is_aggregate=True),
    _aggregate("make_list", "All values that are not null, an array in no order", "any -> dynamic"),
    _aggregate("make_set", "The different ones, sorted", "any -> dynamic"),
    _aggregate("make_list_if", "make_list where the condition holds", "any bool -> dynamic: make_list"),
    _aggregate("make_set_if", "make_set where the condition holds", "any bool -> dynamic: make_set"),
)  # fmt: skip
FUNCTIONS = {function.name: function for function in (*_SCALARS, *_AGGREGATES)}


def completions() -> tuple[str, ...]:
    """Return every word that a query may hold, for completion in an editor."""
    words = {*OPERATORS, *SYNONYMS, *INFIX, *FUNCTIONS, "by", "asc", "desc", "let", "true", "false"}
    return tuple(sorted(word for word in words if word[0].isalpha()))
