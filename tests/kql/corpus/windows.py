"""Functions that look at other rows, as Kusto documents them."""

from tests.kql.corpus.case import Case

_ROWS = "range x from 1 to 5 step 1 | serialize"

CASES = [
    Case(
        "prev",
        f"{_ROWS} | extend p = prev(x)",
        {"x": "long", "p": "long"},
        [(1, None), (2, 1), (3, 2), (4, 3), (5, 4)],
        ordered=True,
    ),
    Case(
        "prev of two rows before, with a default",
        f"{_ROWS} | extend p = prev(x, 2, 0)",
        {"x": "long", "p": "long"},
        [(1, 0), (2, 0), (3, 1), (4, 2), (5, 3)],
        ordered=True,
    ),
    Case(
        "next",
        f"{_ROWS} | extend n = next(x, 1, 10)",
        {"x": "long", "n": "long"},
        [(1, 2), (2, 3), (3, 4), (4, 5), (5, 10)],
        ordered=True,
    ),
    Case(
        "prev of a text",
        "StormEvents | sort by EventId asc | project EventId, p = prev(State) | take 3",
        {"EventId": "long", "p": "string"},
        [(1, ""), (2, "TEXAS"), (3, "TEXAS")],
        ordered=True,
    ),
    Case(
        "the time since the event before",
        "StormEvents | where State == 'KANSAS' | sort by StartTime asc"
        " | project gap = StartTime - prev(StartTime)",
        {"gap": "timespan"},
        [(None,), ("16.14:10:00",), ("64.06:55:00",)],
        ordered=True,
    ),
    Case(
        "rows that differ from the one before",
        "StormEvents | sort by StartTime asc | where prev(State) != State | project EventId",
        {"EventId": "long"},
        [(1,), (3,), (4,), (7,), (8,), (10,)],
        ordered=True,
    ),
    Case(
        "row_number",
        "StormEvents | top 3 by DamageProperty | extend n = row_number() | project n, EventId",
        {"n": "long", "EventId": "long"},
        [(1, 6), (2, 3), (3, 7)],
        ordered=True,
    ),
    Case(
        "row_number from another start",
        f"{_ROWS} | where x > 3 | project n = row_number(7)",
        {"n": "long"},
        [(7,), (8,)],
        ordered=True,
    ),
    Case(
        "row_number that begins anew",
        "StormEvents | sort by State asc, EventId asc"
        " | extend n = row_number(1, prev(State) != State) | where State == 'TEXAS'"
        " | project EventId, n",
        {"EventId": "long", "n": "long"},
        [(1, 1), (2, 2), (7, 3)],
        ordered=True,
    ),
    Case(
        "row_cumsum",
        f"{_ROWS} | extend s = row_cumsum(x)",
        {"x": "long", "s": "long"},
        [(1, 1), (2, 3), (3, 6), (4, 10), (5, 15)],
        ordered=True,
    ),
    Case(
        "row_cumsum that begins anew",
        "datatable(a:string, b:long)['x', 1, 'x', 2, 'y', 7, 'y', 8] | sort by a asc, b asc"
        " | extend s = row_cumsum(b, a != prev(a))",
        {"a": "string", "b": "long", "s": "long"},
        [("x", 1, 1), ("x", 2, 3), ("y", 7, 7), ("y", 8, 15)],
        ordered=True,
    ),
    Case(
        "row_cumsum of reals and timespans",
        "datatable(a:real, b:timespan)[0.5, 1h, 1.5, 30m] | serialize"
        " | project s = row_cumsum(a), t = row_cumsum(b)",
        {"s": "real", "t": "timespan"},
        [(0.5, "01:00:00"), (2.0, "01:30:00")],
        ordered=True,
    ),
    Case(
        "row_rank_dense",
        "datatable(a:string)['x', 'x', 'y', 'z', 'z'] | serialize | extend r = row_rank_dense(a)",
        {"a": "string", "r": "long"},
        [("x", 1), ("x", 1), ("y", 2), ("z", 3), ("z", 3)],
        ordered=True,
    ),
    Case(
        "serialize with a column",
        "datatable(a:string)['x', 'y'] | serialize n = row_number()",
        {"a": "string", "n": "long"},
        [("x", 1), ("y", 2)],
        ordered=True,
    ),
    Case(
        "sessions: the rows between gaps",
        "datatable(t:long)[1, 2, 10, 11, 30] | sort by t asc"
        " | extend session = row_cumsum(iff(t - prev(t, 1, -9) > 5, 1, 0))"
        " | summarize n = count() by session",
        {"session": "long", "n": "long"},
        [(1, 2), (2, 2), (3, 1)],
    ),
    Case(
        "a window over a window",
        f"{_ROWS} | extend d = prev(prev(x)) | where isnotnull(d)",
        {"x": "long", "d": "long"},
        [(3, 1), (4, 2), (5, 3)],
        ordered=True,
    ),
    Case(
        "a window behind mv-expand",
        "print l = dynamic(['a', 'b']) | serialize | mv-expand l to typeof(string)"
        " | extend n = row_number() | summarize max(n)",
        {"max_n": "long"},
        [(2,)],
    ),
]
