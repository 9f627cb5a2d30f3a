"""Literals and other parts of the language, as Kusto documents them."""

from tests.kql.corpus.case import Case, scalar

CASES = [
    scalar("a hexadecimal long", "0xff", "long", 255),
    scalar("a hexadecimal long in brackets", "long(0x10)", "long", 16),
    scalar("a hexadecimal int", "int(0x7f)", "int", 127),
    scalar("all bits of a long", "0xFFFFFFFFFFFFFFFF", "long", -1),
    scalar("a dynamic text in single quotes", "dynamic(['a', 'd\"e'])", "dynamic", ["a", 'd"e']),
    scalar("a quote in single quotes", r"dynamic(['it\'s'])", "dynamic", ["it's"]),
    scalar("a single quote in double ones", 'dynamic(["it\'s"])', "dynamic", ["it's"]),
    scalar("a dynamic bag in single quotes", "dynamic({'a': {'b': 1}}).a.b", "dynamic", 1),
    scalar("the last element", "dynamic([1, 2, 3])[-1]", "dynamic", 3),
    scalar("the first element from the end", "dynamic([1, 2, 3])[-3]", "dynamic", 1),
    scalar("an element before the first", "dynamic([1])[-2]", "dynamic", None),
    scalar("a bag has no last element", "dynamic({'a': 1})[-1]", "dynamic", None),
    scalar("a member of the last element", "dynamic([{'a': 1}, {'a': 2}])[-1].a", "dynamic", 2),
    Case(
        "the last part of a path",
        "print parts = split('/api/v1/cart', '/') | project last = tostring(parts[-1])",
        {"last": "string"},
        [("cart",)],
    ),
    Case(
        "a datatable",
        "datatable(a:long, b:string, c:datetime)[1, 'x', datetime(2020-01-01), 2, 'y', datetime(null)]"
        " | where a > 0",
        {"a": "long", "b": "string", "c": "datetime"},
        [(1, "x", "2020-01-01"), (2, "y", None)],
    ),
    Case("an empty datatable", "datatable(a:long)[]", {"a": "long"}, []),
    Case(
        "a datatable that let names",
        "let t = datatable(a:int, d:dynamic)[-1, dynamic([1]),]; t | extend b = a + 1",
        {"a": "int", "d": "dynamic", "b": "long"},
        [(-1, [1], 0)],
    ),
    Case("a range", "range x from 1 to 5 step 2", {"x": "long"}, [(1,), (3,), (5,)]),
    Case("a range downwards", "range x from 5 to 4 step -1", {"x": "long"}, [(5,), (4,)]),
    Case("an empty range", "range x from 5 to 1 step 1", {"x": "long"}, []),
    Case(
        "a range of reals",
        "range x from 0.5 to 1.0 step 0.25",
        {"x": "real"},
        [(0.5,), (0.75,), (1.0,)],
    ),
    Case(
        "a range of times",
        "range t from datetime(2020-01-01) to datetime(2020-01-03) step 1d",
        {"t": "datetime"},
        [("2020-01-01",), ("2020-01-02",), ("2020-01-03",)],
    ),
    Case(
        "a range of timespans",
        "range t from 1h to 2h step 30m",
        {"t": "timespan"},
        [("01:00:00",), ("01:30:00",), ("02:00:00",)],
    ),
    Case(
        "a range that is summed",
        "range x from 1 to 100 step 1 | summarize s = sum(x)",
        {"s": "long"},
        [(5050,)],
    ),
    Case(
        "the longest range", "range x from 1 to 1000 step 1 | count", {"Count": "long"}, [(1000,)]
    ),
    Case(
        "a table that is kept",
        "let t = materialize(range x from 1 to 3 step 1); t | count",
        {"Count": "long"},
        [(3,)],
    ),
    Case(
        "a chart with properties",
        "print a = 1 | render columnchart with (title='x', ytitle='y')",
        {"a": "long"},
        [(1,)],
    ),
]
