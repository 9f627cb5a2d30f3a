"""Refusals: where, what, and what to do."""

import pytest

from kql.dataset_table import dataset_table
from kql.errors import KqlError
from kql.queries import check_output, check_projection, compile_projection, compile_query
from kql.types import KqlType
from tests.support.kql.rows import TABLE

DATASET = dataset_table("web")

# Text, place, what is found, what is to be done.
QUERIES = [
    ("", "1:1", "expected a dataset or a view", "names have no quotes"),
    ("rows |", "1:7", "no operator 'the end of the text'", "docs/kql.md"),
    ("rows\n| wher x", "2:3", "no operator 'wher'", "did you mean 'where'?"),
    ("rows | where", "1:13", "an expression is missing", "write a column"),
    ("rows | where nope == 1", "1:14", "no column 'nope'", "there are id, i, l"),
    ("rows | where ids == 1", "1:14", "no column 'ids'", "did you mean 'id'?"),
    ("range x from 1 to 5 step 0", "1:26", "the step is zero", "another one"),
    ("range x from 1 to real(inf) step 1", "1:19", "a constant is needed", "a number"),
    ("range x from 'a' to 'b' step 1", "1:30", "no string to string by long", "a timespan"),
    ("rows | range x from 1 to 2 step 1", "1:8", "range stands alone", "begin a query"),
    ("datatable(a:long)['x']", "1:19", "column 'a' is long, this is string", "long(...)"),
    ("datatable(a:int)[3000000000]", "1:18", "column 'a' is int", "int(...)"),
    ("datatable(a:long, b:long)[1]", "1:1", "1 values do not fill rows of 2", "each column"),
    ("datatable(a:long, a:long)[1, 2]", "1:19", "'a' is declared twice", "rename"),
    ("print 0x1g", "1:7", "a number is followed by a letter", "write numbers"),
    ("print 0x10000000000000000", "1:7", "is no long", "at most"),
    ("nothing | count", "1:1", "no dataset or view 'nothing'", "segplane datasets list"),
    ("row | count", "1:1", "no dataset or view 'row'", "did you mean 'rows'?"),
    ("rows | where i", "1:14", "a condition is needed, this is int", "compare it"),
    ("print make_datetime(2026, 1)", "1:7", "make_datetime has 2 arguments", "write make_datetime("),
    ("rows | where s == 1", "1:16", "string == long is not defined", "tolong()"),
    ("rows | where d > '2026'", "1:16", "datetime > string is not defined", "datetime(2026"),
    ("rows | where l > 5ms", "1:16", "long > timespan is not defined", "`duration`"),
    ("rows | extend x = s + s", "1:21", "string + string is not defined", "strcat()"),
    ("rows | extend x = j + 1", "1:21", "dynamic + long is not defined", "convert it first"),
    ("rows | where j.a == j.b", "1:18", "dynamic == dynamic is not defined", "convert one"),
    ("rows | where b < true", "1:16", "bool < bool is not defined", "no order"),
    ("rows | sort by j", "1:16", "dynamic has no order", "tostring"),
    ("rows | summarize count() by j.a", "1:30", "not grouped by a dynamic", "tostring"),
    ("rows | summarize i", "1:18", "column 'i' is not aggregated", "behind by"),
    ("rows | where count() > 1", "1:14", "count is an aggregate", "summarize only"),
    ("rows | summarize max(sum(i))", "1:22", "sum is an aggregate", "summarize only"),
    ("rows | summarize x = arg_max(i, s) + 1", "1:22", "arg_max gives several", "summarize"),
    ("rows | extend x = qqq(1)", "1:19", "no function 'qqq'", "docs/kql.md"),
    ("rows | extend x = strln(s)", "1:19", "no function 'strln'", "did you mean 'strlen'?"),
    ("rows | extend x = strlen()", "1:19", "strlen does not take 0 arguments", "string -> long"),
    ("rows | extend x = strlen(5)", "1:19", "strlen does not take long", "string -> long"),
    ("rows | extend x = abs(j.a)", "1:19", "abs does not take dynamic", "convert the dynamic"),
    ("rows | extend x = isnull(s)", "1:26", "no string is null", "isempty"),
    ("rows | extend x = tolong(w)", "1:26", "timespan does not become long", "1ms"),
    ("rows | extend x = bin(d, i * 1s)", "1:28", "before the query runs", "write a constant"),
    ("rows | extend x = bin(d, 0s)", "1:26", "whole microseconds", "1microsecond"),
    ("rows | extend x = extract('(', 1, s)", "1:27", "not a regular expression", "add ')'"),
    ("rows | extend x = extract('(a)b', 2, s)", "1:19", "has no group 2", "it has 1"),
    ("rows | where s matches regex '(?=x)'", "1:30", "not a regular expression", "look-around"),
    ("rows | where s matches regex 'a++'", "1:30", "not a regular expression", "nothing stands"),
    (r"rows | where s matches regex @'(a)\1'", "1:30", "not a regular expression", "back-ref"),
    ("rows | where s matches regex 'a{1001}'", "1:30", "not a regular expression", "1,000"),
    ("rows | take 1.5", "1:13", "a whole number is needed", "take 10"),
    ("rows | take -1", "1:13", "-1 rows cannot be taken", "0 to"),
    ("rows | project a = 1, a = 2", "1:27", "column 'a' is named twice", "rename"),
    ("rows | project a = 1, A = 2", "1:8", "differ in case alone", "rename"),
    ("rows | extend i = i + 1, k = 2, m = k + i", "1:39", "'i' was replaced", "its own extend"),
    ("rows | mv-expand I = j", "1:8", "differ in case alone", "rename"),
    ("rows | project-away *", "1:8", "no column would stay", "keep at least one"),
    ("rows | project-rename i = l", "1:8", "there would be two columns 'i'", "rename"),
    ("rows | project-rename x = y", "1:27", "no column 'y'", "there are id"),
    ("rows | join kind=cross rows on id", "1:8", "no kind 'cross'", "innerunique"),
    ("rows | join (rows | project x = s) on $left.id == $right.x", "1:8", "is long, 'x' is string",
     "convert"),
    ("rows | join rows on id > 1", "1:24", "not a key of a join", "$left.a"),
    ("rows | union (rows | project id = s)", "1:8", "long in one input and string", "rename"),
    ("rows | where 'a", "1:14", "a text in quotes does not end", "close it"),
    ("rows | where (i > 1", "1:14", "a bracket is not closed", "add ')'"),
    ("rows | where i > 1)", "1:19", "expected '|' or the end, found ')'", "leave the bracket out"),
    ("rows | where i == 1 == true", "1:21", "do not follow one another", "'and'"),
    ("rows | where i !like 'x'", "1:16", "no operator '!like'", "not(...)"),
    ("rows | where d > datetime(2026-02-30)", "1:18", "is no datetime", "no such time"),
    ("rows | where d > datetime(2026-02-28T00:00:00.1234567Z)", "1:18", "no datetime", "_nanos"),
    ("rows | extend x = decimal(1)", "1:19", "decimal is not supported", "real"),
    ("rows | extend x = long(i)", "1:19", "long(...) holds a constant", "tolong(i)"),
    ("rows | extend x = 99999999999999999999", "1:19", "is no long", "whole number"),
    ("rows | extend x = 5q", "1:19", "a number is followed by a letter", "5m"),
    ("rows | extend x = #", "1:19", "no token begins with '#'", "['name']"),
    ("rows | extend x = j['a\\'b']", "1:20", "key \"a'b\" is not supported", "leave out quotes"),
    ("rows | extend x = i.a", "1:19", "int has no members", "parse_json"),
    ("rows | mv-apply x", "1:8", "no operator 'mv-apply'", "docs/kql.md"),
    ("rows | print x = 1", "1:8", "print stands alone", "begin a query"),
    ("rows | mv-expand s", "1:18", "takes a dynamic value, this is string", "split"),
    ("rows | extend x = format_datetime(d, 'q')", "1:38", "'q' is not part of a format", "HH"),
    ("rows | extend x = datetime_diff('zz', d, d)", "1:33", "no part of a time 'zz'", "'hour'"),
    ("print extract('a', 0, 'a', typeof(q))", "1:35", "typeof(q) does not stand here", "extract"),
    ("print tolong('1', typeof(long))", "1:26", "typeof(long) does not stand here", "extract"),
    ("rows | extend x = prev(i)", "1:19", "prev needs rows in an order", "sort by"),
    ("rows | sort by i | summarize row_number()", "1:30", "row_number looks at other", "serialize"),
    ("rows | sort by i | extend prev(i, l)", "1:35", "known beforehand", "constant"),
    ("rows | sort by i | extend row_cumsum(s)", "1:38", "adds numbers or timespans", "convert"),
    ("rows | take toscalar(rows | count)", "1:22", "a query gives no value here", "let x"),
    ("rows | where s in (rows | project i)", "1:14", "string with the table's 'i', int", "convert"),
    ("let f = (x:long) { x }; print f('a')", "1:33", "'x' of f is long", "tolong"),
    ("let f = (x:long) { x }; print f(1, 2)", "1:31", "f takes 1 arguments", "x"),
    ("let f = (x:long) { x }; print f()", "1:31", "f needs 'x'", "default"),
    ("let f = (x:long) { f(x) }; print f(1)", "1:20", "there is no function 'f'", "docs"),
    ("let f = (T:(q:long)) { T }; f(rows)", "1:29", "needs 'q' (long)", "no such column"),
    ("let f = () { rows }; print f()", "1:28", "'f' yields a table", "toscalar"),
    ("g(1) | count", "1:1", "no function 'g' of let", "let f"),
    ("rows | invoke g()", "1:15", "no function 'g' of let", "let f"),
    ("rows | summarize percentile(i, 101)", "1:32", "from 0 to 100", "95"),
    ("let a = b; let b = 1; print a", "1:29", "no column 'a'", "there are none"),
    ("let a = a | count; a", "1:9", "no dataset or view 'a'", "segplane datasets"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "what", "hint"), QUERIES, ids=[c[0] for c in QUERIES])
def test_a_query_is_refused_with_place_and_hint(
    text: str, place: str, what: str, hint: str
) -> None:
    with pytest.raises(KqlError) as refused:
        compile_query(text, {"rows": TABLE}, 0)

    message = str(refused.value)
    assert message.startswith(f"{place}: ")
    assert what in message
    assert hint in message.partition(";")[2]
    assert "\n" not in message


PROJECTIONS = [
    ("THIS IS )( NOT KQL !!", "1:20: no token begins with '!'"),
    ("x", "1:1: there is no operator 'x'"),
    ("summarize count()", "1:1: a projection has no summarize: it maps row by row"),
    ("where timestamp > ago(1h)", "1:19: a projection's rows do not depend on ago()"),
    ("extend x = now()", "1:12: a projection's rows do not depend on now()"),
    ("let x = 1; extend y = x", "1:1: a projection has no let"),
    ("where body > 5", "1:12: string > long is not defined"),
    ("project service = service_name | where service_name == ''", None),
    ("where status >= 500", None),
    ("| where severity_number >= 17 | project timestamp, body", None),
]


@pytest.mark.parametrize(("text", "message"), PROJECTIONS, ids=[c[0] for c in PROJECTIONS])
def test_a_projection_is_checked_as_far_as_its_dataset_is_known(
    text: str, message: str | None
) -> None:
    if message is None:
        # A name that is unknown may be a promoted column: the link decides.
        check_projection(text, {}, DATASET)
    else:
        with pytest.raises(KqlError) as refused:
            check_projection(text, {}, DATASET)
        assert str(refused.value).startswith(message)


SCHEMA: dict[str, KqlType] = {"time": "datetime", "code": "long"}


@pytest.mark.parametrize(
    ("projection", "message"),
    [
        ("project time = timestamp, code = toint(attributes.code), more = 1", ""),
        ("project time = timestamp", "the schema has 'code' (long); add it"),
        ("project time = timestamp, code = 1.5", "column 'code' is real, the schema says long"),
    ],
)
def test_the_output_holds_the_schemas_columns_of_the_same_or_a_narrower_type(
    projection: str, message: str
) -> None:
    columns = compile_projection(projection, DATASET).columns

    if message:
        with pytest.raises(KqlError, match="schema") as refused:
            check_output(projection, columns, SCHEMA)
        assert message in str(refused.value)
    else:
        check_output(projection, columns, SCHEMA)


def test_the_excerpt_shows_the_line_with_a_caret() -> None:
    text = "rows\n| where nope == 1"
    with pytest.raises(KqlError) as refused:
        compile_query(text, {"rows": TABLE}, 0)

    assert refused.value.excerpt(text) == "| where nope == 1\n        ^"
    assert (refused.value.line, refused.value.column) == (2, 9)
