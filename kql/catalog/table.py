"""The one table of operators and functions: parser, types, translation and documentation read it.

The functions of `kql.catalog.library` are part of it.
"""

from dataclasses import dataclass
from typing import Literal

from kql.catalog.library import LIBRARY
from kql.catalog.signatures import Function, aggregate, pair, ruled, scalar, taking

Shape = Literal["one", "list", "range"]


@dataclass(frozen=True, slots=True)
class TabularOperator:
    """An operator of a pipeline; `shape` is the method of the parser that reads it."""

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


_TABULAR = (
    ("where", "value", "where *condition*", "Keeps the rows for which it is true", True),
    ("extend", "columns", "extend *name* = *expression*, ...", "Adds or replaces columns; an item sees those before it", True),
    ("project", "columns", "project *name* = *expression*, ...", "Keeps these columns, in this order", True),
    ("project-away", "names", "project-away *name*, *prefix\\**", "Drops columns", True),
    ("project-keep", "names", "project-keep *name*, *prefix\\**", "Keeps columns, in their own order", True),
    ("project-rename", "rename", "project-rename *new* = *old*, ...", "Renames columns", True),
    ("project-reorder", "names", "project-reorder *name*, *prefix\\**", "Puts columns first", True),
    ("parse", "parse", "parse kind=regex flags=i *text* with 'GET ' path:string ' ' status:long *", "Reads columns out of a text; null or empty if it does not match. kind=relaxed leaves null if a value has another type alone, kind=regex takes the texts as regular expressions", True),
    ("parse-where", "parse", "parse-where *text* with ...", "The same, and drops rows that do not match", True),
    ("mv-expand", "expand", "mv-expand with_itemindex=*i* *name* = *array* to typeof(long), ... limit 10", "A row for each element of an array and for each property of an object; one with null for an empty one and for anything else. Several arrays are read side by side", True),
    ("summarize", "summarize", "summarize *aggregate*, ... by *expression*, ...", "Aggregates, by group", False),
    ("make-series", "series", "make-series *name* = *aggregate* default=0, ... on *time* from *a* to *b* step 1h by *key*", "By group, an array with a value for each step, and one of the steps' beginnings; the end is not included", False),
    ("sort", "sort", "sort by *expression* asc nulls last, ...", "Orders rows; descending unless said otherwise", False),
    ("top", "top", "top 10 by *expression*", "The first rows in an order", False),
    ("top-nested", "top_nested", "top-nested 2 of *column* by *aggregate*, top-nested 3 of *column* by *aggregate* asc, ...", "The first values of a column, of each of these the first ones of the next, and so on", False),
    ("take", "value", "take 10", "Some rows", False),
    ("sample", "value", "sample 10", "Some rows, not drawn evenly", False),
    ("sample-distinct", "sample", "sample-distinct 10 of *column*", "Some of its different values", False),
    ("search", "search", "search kind=case_sensitive in (*table*, ...) 'text*' and ...", "The rows with the text, as has, in some column of texts or dynamic values; a * matches any text before or behind it", False),
    ("distinct", "columns", "distinct *expression*, ... or *", "Different rows", False),
    ("count", "bare", "count", "The number of rows, as Count", False),
    ("union", "union", "union kind=outer *table*, ...", "Rows of all; columns by name, kind=inner the common ones; withsource=*name* adds the table's name", False),
    ("join", "join", "join kind=inner (*table*) on *column*, $left.a == $right.b", "innerunique (default), inner, leftouter, rightouter, fullouter, leftsemi, leftanti, rightsemi, rightanti", False),
    ("lookup", "join", "lookup (*table*) on *column*", "leftouter (default) or inner join without the right keys", False),
    ("print", "columns", "print *name* = *expression*, ...", "One row", False),
    ("datatable", "datatable", "datatable(*name*:long, ...)[1, ...]", "Rows of constants; begins a query", False),
    ("range", "range", "range *name* from 1 to 10 step 1", "A row for each value, of constants; begins a query", False),
    ("getschema", "bare", "getschema", "Names and types of the columns", False),
    ("render", "ignored", "render ...", "Accepted and ignored", False),
    ("serialize", "optional", "serialize *name* = *expression*, ...", "Fixes the order of rows, as prev() needs it; adds columns", False),
    ("evaluate", "evaluate", "evaluate bag_unpack(*column*, 'prefix') : (*, *name*:long, ...), evaluate pivot(*column*, *aggregate*, *key*, ...) : (*name*:long, ...)", "Members of an object as columns, or an aggregate for each value of a column; the columns are those that are declared", False),
    ("invoke", "invoke", "invoke *function*(...)", "A function of let over the table before it", False),
    ("as", "ignored", "as *name*", "Accepted and ignored", False),
)  # fmt: skip
OPERATORS = {row[0]: TabularOperator(*row) for row in _TABULAR}
SYNONYMS = {"filter": "where", "order": "sort", "limit": "take"}

_TEXT = "string const string -> bool: {0}"
_INFIX = (
    InfixOperator("or", 1, "Either"),
    InfixOperator("and", 2, "Both"),
    InfixOperator("==", 3, "Equal; null equals nothing but null, which gives null"),
    InfixOperator("!=", 3, "Not equal; true if one side is null"),
    InfixOperator("<>", 3, "The same as !="),
    InfixOperator("<", 3, "Less; null with null, false with NaN"),
    InfixOperator("<=", 3, "Less or equal"),
    InfixOperator(">", 3, "Greater"),
    InfixOperator(">=", 3, "Greater or equal"),
    InfixOperator("=~", 3, "Equal texts in any case", ("string string -> bool: eq",)),
    InfixOperator("!~", 3, "Not so", ("string string -> bool: eq",)),
    InfixOperator("in", 3, "One of the values, of the elements of an array, or of a table's first column", shape="list"),
    InfixOperator("!in", 3, "None of the values", shape="list"),
    InfixOperator("in~", 3, "One of the texts, in any case", shape="list"),
    InfixOperator("!in~", 3, "None of the texts, in any case", shape="list"),
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
    "has": "Has the text as a term, between characters that are not letters or digits",
    "hasprefix": "Has a term that begins with the text",
    "hassuffix": "Has a term that ends with the text",
    "startswith": "Begins with the text",
    "endswith": "Ends with the text",
}
INFIX = {operator.name: operator for operator in _INFIX} | {
    f"{sign}{word}{case}": InfixOperator(
        f"{sign}{word}{case}",
        3,
        f"Negation of `{word}{case}`" if sign else summary + (", case counts" if case else ""),
        (_TEXT.format(word + case),),
    )
    for word, summary in _TERMS.items()
    for case in ("", "_cs")
    for sign in ("", "!")
}


_CONVERSIONS = {
    "tostring": "string", "toint": "int", "tolong": "long", "todouble": "real", "toreal": "real",
    "tobool": "bool", "todatetime": "datetime", "toguid": "guid",
}  # fmt: skip
_SCALARS = (
    *(ruled(name, f"Converts to {type_}; null if that fails", f"to {type_}", "any")
      for name, type_ in _CONVERSIONS.items()),
    scalar("not", "Turns a condition; null stays null", "bool -> bool"),
    ruled("iff", "iff(condition, then, else)", "case", "any any any"),
    ruled("iif", "The same as iff", "case", "any any any"),
    ruled("case", "case(condition, value, ..., otherwise)", "case", "any any any...101"),
    ruled("coalesce", "The first that is not null; of texts, not empty", "coalesce", "any any...64"),
    scalar("isempty", "Null or an empty text", "string -> bool", "any -> bool: isnull"),
    scalar("isnotempty", "Neither null nor an empty text", "string -> bool", "any -> bool: isnotnull"),
    scalar("notempty", "The same as isnotempty", "string -> bool: isnotempty", "any -> bool: isnotnull"),
    ruled("isnull", "Null; no text is, see isempty", "isnull", "any"),
    ruled("isnotnull", "Not null", "isnotnull", "any"),
    scalar("isnan", "Not a number", "real -> bool"),
    ruled("attribute", "attribute(attributes, 'user.id'): an attribute as a text; its key may have dots", "attribute", "any any"),
    taking("strcat", "Joins values as texts; null is empty", "text...64 -> string"),
    ruled("strcat_delim", "strcat_delim(delimiter, value, ...): joins values as texts with a delimiter between them", "strcat_delim", "text text...64"),
    scalar("strlen", "Length in characters (code points)", "string -> long"),
    scalar("substring", "From a position, counted from 0, below 0 from the end", "string long -> string", "string long long -> string: substring_of"),
    scalar("tolower", "Lower case", "string -> string"),
    scalar("toupper", "Upper case", "string -> string"),
    scalar("extract", "extract(regex, group, text, typeof(long)): a group of the first match, or empty; as a type if one is named", "regex const long string -> string"),
    scalar("replace_string", "replace_string(text, old, new)", "string string string -> string"),
    scalar("replace_regex", "replace_regex(text, regex, rewrite): \\1 is the first group", "string regex const rewrite -> string"),
    scalar("split", "Parts between a separator, an array", "string const separator -> dynamic", "string const separator const long -> dynamic"),
    ruled("trim", "trim(regex, text): without what matches at both ends", "trim", "any as_string"),
    ruled("trim_start", "The same at the beginning", "trim", "any as_string"),
    ruled("trim_end", "The same at the end", "trim", "any as_string"),
    Function("now", "The time at which the query began, and a timespan from there", ("const timespan? -> datetime",), "now", is_row_by_row=False),
    Function("ago", "ago(1h): that long before now", ("const timespan -> datetime",), "now", is_row_by_row=False),
    scalar("bin", "Rounds down to a multiple; null if that is not above zero", "datetime const width -> datetime: bin_datetime", "timespan timespan -> timespan: bin_whole", "long long -> long: bin_whole", "real real -> real: bin_real"),
    scalar("floor", "The same as bin", "datetime const width -> datetime: bin_datetime", "timespan timespan -> timespan: bin_whole", "long long -> long: bin_whole", "real real -> real: bin_real"),
    ruled("datetime_diff", "datetime_diff('hour', to, from): boundaries crossed", "datetime_diff", "any as_datetime as_datetime"),
    ruled("format_datetime", "format_datetime(time, 'yyyy-MM-dd HH:mm:ss.fff')", "format_datetime", "as_datetime any"),
    scalar("parse_json", "A text as JSON; any other text becomes a text in JSON", "string -> dynamic", "dynamic -> dynamic: same"),
    scalar("todynamic", "The same as parse_json", "string -> dynamic: parse_json", "dynamic -> dynamic: same"),
    scalar("array_length", "Elements of an array; null of anything else", "dynamic -> long"),
    scalar("abs", "Without sign", "long -> long: abs", "real -> real: abs", "timespan -> timespan: abs"),
    scalar("round", "round(number, digits): halves away from zero", "real -> real: round_whole", "real const long -> real"),
    scalar("sqrt", "Square root; null below zero", "real -> real"),
    scalar("pow", "pow(base, exponent)", "real real -> real"),
    scalar("exp", "The natural exponential", "real -> real"),
    scalar("log", "Natural logarithm; null if it is not above zero", "real -> real"),
    scalar("log2", "Logarithm to base 2", "real -> real"),
    scalar("log10", "Logarithm to base 10", "real -> real"),
    ruled("hourofday", "The hour, 0 to 23 (UTC)", "part_of_date", "as_datetime"),
    ruled("dayofweek", "The days since Sunday, a timespan", "part_of_date", "as_datetime"),
    ruled("dayofmonth", "The day of the month, from 1 on", "part_of_date", "as_datetime"),
    ruled("dayofyear", "The day of the year, from 1 on", "part_of_date", "as_datetime"),
    ruled("monthofyear", "The month, 1 to 12", "part_of_date", "as_datetime"),
    ruled("getyear", "The year", "part_of_date", "as_datetime"),
)  # fmt: skip
_WINDOWS = (
    Function("prev", "prev(value, 1, default): of an earlier row, in the order of a sort or serialize", rule="window", taken="any any? any?", is_row_by_row=False),
    Function("next", "The same of a later row", rule="window", taken="any any? any?", is_row_by_row=False),
    Function("row_number", "row_number(1, restart): the row's number; counts from the first number again at rows for which the condition is true", rule="window", taken="any? any?", is_row_by_row=False),
    Function("row_cumsum", "row_cumsum(number, restart): the sum up to the row", rule="window", taken="any any?", is_row_by_row=False),
    Function("row_rank_dense", "How many runs of equal values there are up to the row", rule="window", taken="any", is_row_by_row=False),
)  # fmt: skip
_SUMS = (
    "int {1} -> long: {0}",
    "long {1} -> long: {0}",
    "real {1} -> real: {0}_real",
    "timespan {1} -> timespan: {0}",
)
_MEANS = ("real {1} -> real: {0}", "timespan {1} -> timespan: {0}_timespan")


_AGGREGATES = (
    aggregate("count", "Rows", "-> long: count_rows", "any -> long: count"),
    aggregate("countif", "Rows for which it is true", "bool -> long"),
    *pair("dcount", "Different values, exactly; a text counts null as ''", "any {1} -> long: {0}", "any {1} const long -> long: {0}"),
    aggregate("count_distinct", "The same as dcount", "any -> long: dcount"),
    *pair("sum", "Sum; 0 over nothing", *_SUMS),
    *pair("avg", "Mean", *_MEANS),
    *pair("min", "The least; null over nothing", "ordered {1} -> T: {0}"),
    *pair("max", "The greatest", "ordered {1} -> T: {0}"),
    *pair("stdev", "Standard deviation of a sample; 0 over nothing", "real {1} -> real: {0}"),
    *pair("variance", "Variance of a sample; 0 over nothing", "real {1} -> real: {0}"),
    *pair("take_any", "Some value", "any {1} -> T: {0}"),
    aggregate("any", "The same as take_any", "any -> T: take_any"),
    ruled("percentile", "percentile(value, 95): nearest rank", "percentile", "any any", is_aggregate=True),
    ruled("percentiles", "percentiles(value, 50, 95): a column each", "percentile", "any any...21", is_aggregate=True),
    ruled("arg_max", "arg_max(key, column, ... or *): of the row with the greatest key", "arg", is_aggregate=True),
    ruled("arg_min", "The same with the least", "arg", is_aggregate=True),
    aggregate("make_list", "All values that are not null, an array in no order; at most the given number", "any -> dynamic", "any const long -> dynamic"),
    aggregate("make_set", "The different ones, sorted; at most the given number", "any -> dynamic", "any const long -> dynamic"),
    aggregate("make_list_if", "make_list of the rows for which the condition is true", "any bool -> dynamic: make_list", "any bool const long -> dynamic: make_list"),
    aggregate("make_set_if", "make_set of the rows for which the condition is true", "any bool -> dynamic: make_set", "any bool const long -> dynamic: make_set"),
)  # fmt: skip
FUNCTIONS = {function.name: function for function in (*_SCALARS, *_WINDOWS, *_AGGREGATES, *LIBRARY)}


def completions() -> tuple[str, ...]:
    """Return every word that a query may hold, for completion in an editor."""
    words = {*OPERATORS, *SYNONYMS, *INFIX, *FUNCTIONS, "by", "asc", "desc", "let", "true", "false"}
    return tuple(sorted(word for word in words if word[0].isalpha()))
