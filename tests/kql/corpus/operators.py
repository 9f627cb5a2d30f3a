"""Operators that combine, search, expand and turn tables, as Kusto documents them."""

from tests.kql.corpus.case import Case, scalar

_PAIRS = "datatable(a:dynamic, b:dynamic)[dynamic([1, 2, 3]), dynamic(['x'])]"

CASES = [
    scalar("extract as a type", "extract('n=([0-9]+)', 1, 'n=12', typeof(long)) + 1", "long", 13),
    scalar(
        "extract nothing as a type", "extract('n=([0-9]+)', 1, 'm', typeof(long))", "long", None
    ),
    Case(
        "top-nested",
        "StormEvents | top-nested 2 of State by sum(DamageProperty)",
        {"State": "string", "aggregated_State": "long"},
        [("KANSAS", 250075000), ("TEXAS", 1055000)],
    ),
    Case(
        "top-nested of two levels",
        "StormEvents | top-nested 2 of State by sum(DamageProperty),"
        " top-nested 1 of EventType by n = count()",
        {"State": "string", "aggregated_State": "long", "EventType": "string", "n": "long"},
        [("KANSAS", 250075000, "Tornado", 2), ("TEXAS", 1055000, "Flash Flood", 2)],
    ),
    Case(
        "top-nested of all values, then the least",
        "StormEvents | where State != 'FLORIDA' | top-nested of State by count(),"
        " top-nested 1 of Source by max(EventId) asc | project State, Source",
        {"State": "string", "Source": "string"},
        [
            ("TEXAS", "Emergency Manager"),
            ("KANSAS", "Trained Spotter"),
            ("GEORGIA", "Law Enforcement"),
        ],
    ),
    Case(
        "top-nested of null",
        "datatable(a:long, b:string)[long(null), 'x', long(null), 'x', long(null), 'y', 1, 'z']"
        " | top-nested 5 of a by count(), top-nested 1 of b by count()",
        {"a": "long", "aggregated_a": "long", "b": "string", "aggregated_b": "long"},
        [(None, 3, "x", 2), (1, 1, "z", 1)],
    ),
    Case(
        "union withsource",
        "union withsource=t StormEvents, (StormEvents | take 1) | summarize n = count() by t",
        {"t": "string", "n": "long"},
        [("StormEvents", 10), ("union_arg1", 1)],
    ),
    Case(
        "union withsource behind a table",
        "StormEvents | take 2 | union withsource=t StormEvents | summarize n = count() by t",
        {"t": "string", "n": "long"},
        [("union_arg0", 2), ("StormEvents", 10)],
    ),
    Case(
        "union of tables with other columns",
        "union (print a = 1), (print b = 'x') | project a, b",
        {"a": "long", "b": "string"},
        [(1, ""), (None, "x")],
    ),
    Case(
        "some column has a term",
        "StormEvents | where * has 'tornado' | project EventId",
        {"EventId": "long"},
        [(3,), (5,), (6,)],
    ),
    Case(
        "some column contains a text, and another test",
        "StormEvents | where * contains 'rain' and State == 'TEXAS' | project EventId",
        {"EventId": "long"},
        [(7,)],
    ),
    Case(
        "search",
        "StormEvents | search 'Greensburg' | project EventId",
        {"EventId": "long"},
        [(6,)],
    ),
    Case(
        "search for a beginning",
        "StormEvents | search 'torn*' | project EventId",
        {"EventId": "long"},
        [(3,), (5,), (6,)],
    ),
    Case(
        "search for a part",
        "StormEvents | search '*reensbur*' | project EventId",
        {"EventId": "long"},
        [(6,)],
    ),
    Case(
        "search with conditions",
        "StormEvents | search 'lightning' or (State == 'TEXAS' and 'rain') | project EventId",
        {"EventId": "long"},
        [(7,), (8,)],
    ),
    Case(
        "search without",
        "StormEvents | search State == 'KANSAS' and not('tornado') | project EventId",
        {"EventId": "long"},
        [(4,)],
    ),
    Case(
        "search heeds case if told",
        "StormEvents | search kind=case_sensitive 'greensburg' | count",
        {"Count": "long"},
        [(0,)],
    ),
    Case(
        "search in tables",
        "search in (StormEvents, (print x = 'a tornado')) 'tornado' | summarize n = count() by ['$table']",
        {"$table": "string", "n": "long"},
        [("StormEvents", 3), ("union_arg1", 1)],
    ),
    Case(
        "mv-expand of two arrays",
        f"{_PAIRS} | mv-expand a to typeof(long), b to typeof(string)",
        {"a": "long", "b": "string"},
        [(1, "x"), (2, ""), (3, "")],
    ),
    Case(
        "mv-expand of two arrays under other names",
        "print a = dynamic([1, 2]), b = dynamic([3, 4]) | mv-expand x = a, y = b | project x, y",
        {"x": "dynamic", "y": "dynamic"},
        [(1, 3), (2, 4)],
    ),
    Case(
        "mv-expand with an index",
        "print a = dynamic(['p', 'q']) | mv-expand with_itemindex=i a to typeof(string)",
        {"a": "string", "i": "long"},
        [("p", 0), ("q", 1)],
    ),
    Case(
        "mv-expand with a limit",
        "print a = dynamic(['p', 'q', 'r']) | mv-expand a to typeof(string) limit 2",
        {"a": "string"},
        [("p",), ("q",)],
    ),
    Case(
        "mv-expand of nothing and an array",
        "print a = dynamic([]), b = dynamic([1]) | mv-expand a to typeof(long), b to typeof(long)",
        {"a": "long", "b": "long"},
        [(None, 1)],
    ),
    Case("range as an array", "print x = range(1, 10, 4)", {"x": "dynamic"}, [([1, 5, 9],)]),
    Case("range by one", "print x = range(2, 4)", {"x": "dynamic"}, [([2, 3, 4],)]),
    Case("range downwards", "print x = range(3, 1, -1)", {"x": "dynamic"}, [([3, 2, 1],)]),
    Case("range of nothing", "print x = range(3, 1)", {"x": "dynamic"}, [([],)]),
    Case("range without a step", "print x = range(1, 3, 0)", {"x": "dynamic"}, [(None,)]),
    Case("range of too many", "print x = range(0, 1048576)", {"x": "dynamic"}, [(None,)]),
    Case(
        "range of the most",
        "print n = array_length(range(1, 1048576))",
        {"n": "long"},
        [(1_048_576,)],
    ),
    Case(
        "range of columns, expanded",
        "datatable(a:long, b:long)[1, 2] | mv-expand x = range(a, b) to typeof(long) | project x",
        {"x": "long"},
        [(1,), (2,)],
    ),
    Case(
        "bag_unpack",
        "print d = dynamic({'name': 'John', 'age': 20}), k = 7"
        " | evaluate bag_unpack(d) : (k:long, name:string, age:long)",
        {"k": "long", "name": "string", "age": "long"},
        [(7, "John", 20)],
    ),
    Case(
        "bag_unpack with a prefix and the other columns",
        "print d = dynamic({'age': 20}), k = 7"
        " | evaluate bag_unpack(d, 'p_') : (*, p_age:int, p_none:real)",
        {"k": "long", "p_age": "int", "p_none": "real"},
        [(7, 20, None)],
    ),
    Case(
        "pivot",
        "StormEvents | evaluate pivot(EventType, count(), State)"
        " : (State:string, Tornado:long, ['Flash Flood']:long)",
        {"State": "string", "Tornado": "long", "Flash Flood": "long"},
        [("TEXAS", 0, 2), ("KANSAS", 2, 0), ("FLORIDA", 1, 0), ("GEORGIA", 0, 0)],
    ),
    Case(
        "pivot of a sum by the other columns",
        "StormEvents | project State, EventType, DeathsDirect"
        " | evaluate pivot(EventType, sum(DeathsDirect)) : (State:string, Tornado:long)",
        {"State": "string", "Tornado": "long"},
        [("FLORIDA", 8), ("GEORGIA", 0), ("TEXAS", 0), ("KANSAS", 11)],
    ),
    Case(
        "parse with regular expressions",
        r"print s = 'GET /a/b 200 ok' | parse kind=regex s with @'\w+\s' path:string @'\s' code:long ' ' *"
        " | project path, code",
        {"path": "string", "code": "long"},
        [("/a/b", 200)],
    ),
    Case(
        "parse with its own group",
        r"print s = 'a=(x) n=12 z' | parse kind=regex s with @'a=\((x|y)\) n=' n:long ' ' r"
        " | project n, r",
        {"n": "long", "r": "string"},
        [(12, "z")],
    ),
    Case(
        "parse whatever the case",
        "print s = 'USER=ann' | parse kind=regex flags=i s with 'user=' u | project u",
        {"u": "string"},
        [("ann",)],
    ),
    Case(
        "parse that leaves null where one value does not fit",
        "print s = 'id=abc n=5' | parse kind=relaxed s with 'id=' id:long ' n=' n:long"
        " | project id, n",
        {"id": "long", "n": "long"},
        [(None, 5)],
    ),
    Case(
        "parse that takes all or nothing",
        "print s = 'id=abc n=5' | parse s with 'id=' id:long ' n=' n:long | project id, n",
        {"id": "long", "n": "long"},
        [(None, None)],
    ),
    Case(
        "top of several",
        "StormEvents | summarize d = sum(DamageProperty) by State | top 2 by d",
        {"State": "string", "d": "long"},
        [("KANSAS", 250075000), ("TEXAS", 1055000)],
        ordered=True,
    ),
    Case(
        "a join of a table with its own aggregate",
        "let most = StormEvents | summarize m = max(DamageProperty) by State;"
        " StormEvents | join kind=inner (most) on State | where DamageProperty == m and m > 0"
        " | project State, EventId",
        {"State": "string", "EventId": "long"},
        [("TEXAS", 7), ("FLORIDA", 3), ("KANSAS", 6), ("GEORGIA", 10)],
    ),
    Case(
        "lookup of a dimension",
        "let names = datatable(State:string, Code:string)['TEXAS', 'TX', 'KANSAS', 'KS'];"
        " StormEvents | lookup names on State | summarize n = count() by Code",
        {"Code": "string", "n": "long"},
        [("TX", 3), ("KS", 3), ("", 4)],
    ),
    Case(
        "the share of each group, by a join with the total",
        "StormEvents | summarize n = count() by State | extend k = 1"
        " | join kind=inner (StormEvents | summarize t = count() | extend k = 1) on k"
        " | project State, share = 1.0 * n / t",
        {"State": "string", "share": "real"},
        [("TEXAS", 0.3), ("FLORIDA", 0.3), ("KANSAS", 0.3), ("GEORGIA", 0.1)],
    ),
    Case(
        "two groups of let, joined",
        "let a = StormEvents | where EventType == 'Tornado' | summarize t = count() by State;"
        " let b = StormEvents | where EventType == 'Flash Flood' | summarize f = count() by State;"
        " a | join kind=fullouter b on State | project State = coalesce(State, State1), t, f",
        {"State": "string", "t": "long", "f": "long"},
        [("KANSAS", 2, None), ("FLORIDA", 1, None), ("TEXAS", None, 2)],
    ),
]
