"""docs/kql.md, written from the table of operators and functions: `make gen`."""

import sys
from collections.abc import Iterable

from kql import queries, scope
from kql.catalog.signatures import Function
from kql.catalog.table import FUNCTIONS, INFIX, OPERATORS, SYNONYMS
from kql.dataset_table import FORMAT_COLUMNS, WORDS
from kql.operators import constants, make_series
from kql.sql.support import engines_of
from kql.syntax import parser, tokens
from kql.types import TYPES, UNIT_NANOS

_HEAD = """<!-- Written by kql/docs.py from the table in kql/catalog/table.py: make gen -->
# KQL: the subset

Projections and queries are written in a subset of the Kusto Query Language. A text is parsed, checked
against types and translated to the SQL of DuckDB, Spark 4 or Trino. Anything that is not listed here is
refused, with line, column and a remedy; so are queries that an engine cannot evaluate as KQL defines them.

The tests run every operator and function on DuckDB and on Spark, and on Trino if `make readers` installed it. The
column Engines names the engines of each; elsewhere it is refused with its name. Operators between values are
available on all three.

A **query** begins with a dataset or view, a function of `let`, `union`, `search`, `print`, `datatable` or `range`; operators follow, each behind
a `|`. `let name = value;` and `let name = table | ...;` may stand before it, `//` begins a comment.

`let f = (x:long, y:long = 1) { let z = x + y; z * 2 };` names a function, and one of a table is
`let f = (T:(id:long), n:long) { T | top n by id };`, called as `f(T, 3)` or `T | invoke f(3)`. A function sees its
parameters and earlier names. `materialize(table | ...)` is accepted: an engine decides by itself what it
computes once.

A **query within an expression** is `x in (table | ...)`, where the first column counts, or `toscalar(table | ...)`,
the first value of the first row. The engine reads it as a join. It stands in every operator but `take`, and not in the
body of a function that yields a value.

A **projection** has no source: it begins with an operator and maps one record at a time, so it has
only the operators marked so, and neither `now()` nor `ago()`.

| Bound | Value |
|---|---|
"""

_MEANING = """
## Types

{types}. Literals: `true`, `1`, `1.5`, `'text'`, `@'a\\b'`, `5m` ({units}), `datetime(2026-01-31T12:00:00Z)`,
`timespan(1.02:03:04)`, `guid(...)`, `dynamic({{"a": [1]}})`, `int(1)`, `real(nan)`, and `long(null)` of every type but string.

- Numbers widen: int, long, real. Results of ints are longs. Division of whole numbers truncates, by zero it is null, as are results beyond the type's
  range. With reals, `1.0/0` is infinite and `0.0/0` is NaN; JSON has them as `"Infinity"`, `"-Infinity"` and `"NaN"`.
- Times have microseconds, from the year 1 to 9999; results beyond are null. The nanoseconds of a record's times are the columns `<time>_nanos`.
- Timespans have nanoseconds. `duration` is the timespan of `duration_ns`, a long.
- time - time is a timespan, time ± timespan a time, timespan / timespan a real, timespan * number a timespan.
- A dynamic value that is compared with a typed one takes its type; two dynamic ones do not compare. Before arithmetic, sort and
  grouping it is converted: `tolong(attributes['http.response.status_code'])`.
- JSON numbers compare by value. Compared with a whole number, whole ones compare exactly and others as reals, so that
  `attributes['amount'] < 2` finds 1.5. `tolong` and `toint` truncate. A text counts as a number if it is written like one: `"5"` if compared with a whole number, `"1.5"` with a real.
- `attributes.http.route` is the member `route` of `http`, or the key `http.route` if there is no such member.
- `attributes['http.route']` is one key, even though it has a dot; `['attributes.http.route']` means the same.
  A key has no quotes, brackets, backslashes, `*` or `?`.

## Null, NaN and case

- A text is never null. One that is stored as null counts as `''` in comparisons, groups and `strcat`.
- `==` and `!=` with one null are false and true; with two they are null. `<` and its like are null. `where` keeps only true.
- `in` and operators over texts are never null; with `!` they are true of null.
- NaN is equal to nothing, also in `in`, `set_has_element` and the keys of `join`, and neither less nor greater than anything. In an order it is next to
  the nulls: `max`, `min`, `arg_max`, `percentile`, `max_of` and their like yield it only if there is no other number. In arrays it is the text `"NaN"`.
- Of equal keys of a bag the first counts: in members, functions of bags and `mv-expand`. The text of a bag that is stored or parsed keeps all of them.
  On Spark, `parse_json` and functions of bags take a text with equal keys for null.
- `sort` puts nulls first if ascending and last if descending, by default.
- `severity == 'error'` is true of no record, since the words are stored in capitals: the answer has a warning that names the stored word and `=~`.
- `==`, `in`, `contains_cs` and other `_cs` heed case; `=~`, `in~`, `contains`, `has`, `startswith` do not. Names of columns do,
  but two that differ in case alone are refused, because SQL takes them for one.
- Without regard to case, each character of both texts is replaced by its lower-case character, one by one: `İ` is `i`, the Kelvin sign is `k`, and `Σ` and `ς` are `σ`. `ß` is not
  `ss`, and `ſ` is no `s`. DuckDB, Spark and Trino are told so in SQL, with one exception: the other case of a letter that is newer than the Unicode of an engine is not found there,
  though the letter itself is. `tolower` does the same, except that it keeps `ς`.
- A column without a given name takes that of the column or function within, as in Kusto.

## Regular expressions

Regular expressions are those of RE2, as Kusto documents, without the parts that Java's engine lacks or means otherwise: groups, alternatives,
repetitions up to 1,000, classes, `\\d \\w \\s \\b`, `\\p{{L}}` and its like, `(?i)`, `(?s)`, `(?m)`. For Spark they are
rewritten where Java's engine means something else by `.`, `$`, `\\s` or `(?i)`.

## Differences from Kusto

| Here | In Kusto |
|---|---|
| times have microseconds, timespans nanoseconds | both have 100 ns |
| `has` looks for a term anywhere in the text, by a regular expression | an index of terms |
| `dcount` is exact | estimated |
| `percentile` is the nearest rank | estimated for many values |
| `parse` is anchored at both ends unless it ends with `*` | the same as kind=simple |
| `tostring` of a real that is not a whole number prints as the engine does | as .NET does |
| texts become whole numbers and times only if the whole text is one: `[+-]?[0-9]+`, with nothing but zeros behind a point; ISO 8601 | further forms |
| no number becomes a timespan by itself | `totimespan` |
| `endofday` and its like end with .999999, since times have microseconds | .9999999 |
| `hash_md5` and its like take texts only | any value |
| `bag_remove_keys` takes keys of the outer bag only | JSON paths too |
| `series_fill_linear` fills in reals, also between whole numbers | whole numbers |
| sets are in the order of their values' JSON, and compare them as such: 1 and 1.0 are two | in no order |
| `indexof` finds the first occurrence only | a fifth argument says which |
| `decimal` is refused | a type |
| texts have an order: `<` and its like compare code points | no order |
| `count(x)` counts the values that are not null | `count()` has no argument |
| an item of `extend` may use new columns of those before it | an `extend` of its own |
| `project i, i` gives `i` and `i1` | refused |
| `union` widens numbers, and refuses other columns of two types | a column each, as `i_int` |
| case is folded [one to one](#null-nan-and-case), upper case is the engine's | the invariant culture's |
| a pattern of columns has at most four `*` | any number |

On Spark, `mv-expand` and dynamic values that are not converted need Spark 4. Trino has neither exact percentiles nor
`mv-expand` in this translation: both are refused for it.
"""


def page() -> str:
    """Return the whole page."""
    bounds = {
        "characters of a text": tokens.TEXT_CHARACTERS_MAX,
        "tokens": tokens.TOKENS_MAX,
        "operators": parser.OPERATORS_MAX,
        "tables": parser.SOURCES_MAX,
        "queries within expressions": scope.SUBQUERIES_MAX,
        "rows of datatable and range": constants.ROWS_MAX,
        "steps of make-series": make_series.POINTS_MAX,
        "levels of brackets, operators in a row": tokens.NESTING_MAX,
        "levels of expressions, with what let named": scope.LEVELS_MAX,
        "nested steps": queries.LEVELS_MAX,
    }
    units = ", ".join(sorted(UNIT_NANOS, key=lambda unit: (UNIT_NANOS[unit], len(unit))))
    sections = [
        _HEAD + _rows((f"most {name}", f"{value:,}") for name, value in bounds.items()),
        _MEANING.format(types=", ".join(f"`{t}`" for t in TYPES), units=units),
        _operators(),
        _infix(),
        _functions("Functions", (f for f in FUNCTIONS.values() if not f.is_aggregate)),
        _functions("Aggregates", (f for f in FUNCTIONS.values() if f.is_aggregate)),
        _columns(),
    ]
    return "\n".join(section.strip("\n") + "\n" for section in sections)


def _rows(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join("| " + " | ".join(_cell(cell) for cell in row) + " |\n" for row in rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _operators() -> str:
    head = "## Operators\n\n| Operator | What it does | In projections | Engines |\n|---|---|---|---|\n"
    synonyms = ", ".join(f"`{name}` is `{of}`" for name, of in SYNONYMS.items())
    rows = (
        (o.syntax, o.summary, "yes" if o.is_row_by_row else "no", engines_of(o.name))
        for o in OPERATORS.values()
    )
    return f"{head}{_rows(rows)}\nSynonyms: {synonyms}.\n"


def _infix() -> str:
    head = "## Between values\n\nThe last bind most tightly.\n\n| Operator | Meaning |\n|---|---|\n"
    ordered = sorted(INFIX.values(), key=lambda operator: operator.precedence)
    return head + _rows((f"`{o.name}`", o.summary) for o in ordered)


def _functions(title: str, functions: Iterable[Function]) -> str:
    head = f"## {title}\n\n| Function | Types | Result | Engines |\n|---|---|---|---|\n"
    return head + _rows(
        (f"`{f.name}`", _signatures(f), f.summary, engines_of(f.name)) for f in functions
    )


def _signatures(function: Function) -> str:
    if not function.signatures:
        return "any"
    return f"`{function.shown}`"


def _columns() -> str:
    words = "".join(
        f"- `{name}` of `{source}`: {', '.join(words)}\n" for name, (source, words) in WORDS.items()
    )
    head = (
        "## Columns of a dataset\n\nBeside its promoted columns, which keep their own types. "
        "`web.logs`, `web.metrics` and `web.traces` are the records of one signal of `web`, with its"
        f" columns.\n\nColumns of words are computed from those of numbers, for all files:"
        f"\n\n{words}- `value`, a real: the number of a point, `value_double` or `value_long`; null if the point has no recorded value by its `flags`"
        "\n\nA projection may name them; it yields them only then.\n\n"
    )
    by_type = (
        (f"`{type_}`", ", ".join(f"`{n}`" for n, t in FORMAT_COLUMNS.items() if t == type_))
        for type_ in TYPES
        if type_ in FORMAT_COLUMNS.values()
    )
    return f"{head}| Type | Columns |\n|---|---|\n{_rows(by_type)}"


if __name__ == "__main__":
    sys.stdout.write(page())
