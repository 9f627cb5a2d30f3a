"""Queries within expressions, as Kusto documents them."""

from kql.typed import Columns
from tests.kql.corpus.case import Case

_STATES: Columns = {"State": "string"}
_BIG = [("TEXAS",), ("FLORIDA",), ("KANSAS",)]

CASES = [
    Case(
        "in a query",
        "StormEvents | where State in (StormEvents | where DeathsDirect > 5 | project State)"
        " | distinct State",
        _STATES,
        [("FLORIDA",), ("KANSAS",)],
    ),
    Case(
        "in the first column of a query",
        "StormEvents | where State in (StormEvents | where DeathsDirect > 5 | project State, EventId)"
        " | count",
        {"Count": "long"},
        [(6,)],
    ),
    Case(
        "in a table that let names",
        "let deadly = StormEvents | where DeathsDirect > 0 | distinct State;"
        " StormEvents | where State in (deadly) | distinct State",
        _STATES,
        _BIG,
    ),
    Case(
        "not in a table",
        "let deadly = StormEvents | where DeathsDirect > 0 | distinct State;"
        " StormEvents | where State !in (deadly) | project State",
        _STATES,
        [("GEORGIA",)],
    ),
    Case(
        "in a table, whatever the case",
        "StormEvents | where State in~ (datatable(s:string)['georgia']) | project State",
        _STATES,
        [("GEORGIA",)],
    ),
    Case(
        "not in a table, whatever the case",
        "datatable(s:string)['a', 'B'] | where s !in~ (datatable(t:string)['b'])",
        {"s": "string"},
        [("a",)],
    ),
    Case(
        "in a materialized table",
        "let m = materialize(StormEvents | where State == 'GEORGIA' | project EventId);"
        " StormEvents | where EventId in (m) | project EventId",
        {"EventId": "long"},
        [(10,)],
    ),
    Case(
        "in an empty table",
        "StormEvents | where EventId in (StormEvents | where false | project EventId) | count",
        {"Count": "long"},
        [(0,)],
    ),
    Case(
        "null is in no table",
        "datatable(a:long)[1, long(null)] | extend b = a in (datatable(c:long)[1, long(null)])",
        {"a": "long", "b": "bool"},
        [(1, True), (None, False)],
    ),
    Case(
        "NaN is in no table",
        "print a = real(nan) | where a in (datatable(b:real)[real(nan)]) | count",
        {"Count": "long"},
        [(0,)],
    ),
    Case(
        "a bag of all columns beside a query",
        "print a = 1 | extend b = pack_all(), c = a in (datatable(d:long)[1])",
        {"a": "long", "b": "dynamic", "c": "bool"},
        [(1, {"a": 1}, True)],
    ),
    Case(
        "a wider number in a table",
        "datatable(a:int)[1, 3] | where a in (datatable(b:real)[1.0, 2.0])",
        {"a": "int"},
        [(1,)],
    ),
    Case(
        "a dynamic value in a table of texts",
        "print d = dynamic({'u': 'x'}) | where d.u in (datatable(b:string)['x']) | count",
        {"Count": "long"},
        [(1,)],
    ),
    Case(
        "in within a larger condition",
        "StormEvents | where EventId > 8 or State in (StormEvents | where EventId == 3 | project State)"
        " | project EventId",
        {"EventId": "long"},
        [(3,), (8,), (9,), (10,)],
    ),
    Case(
        "in within an aggregate",
        "StormEvents | summarize n = countif(State in (datatable(s:string)['TEXAS']))",
        {"n": "long"},
        [(3,)],
    ),
    Case(
        "in a table behind another condition",
        "StormEvents | where EventType == 'Tornado' and State in (datatable(s:string)['KANSAS'])"
        " and EventId > 5 | project EventId",
        {"EventId": "long"},
        [(6,)],
    ),
    Case(
        "in an array that let names",
        "let wanted = dynamic(['TEXAS', 'GEORGIA']); StormEvents | where State in (wanted) | count",
        {"Count": "long"},
        [(4,)],
    ),
    Case(
        "in an array of numbers",
        "StormEvents | where EventId in (dynamic([1, 2, 99])) | count",
        {"Count": "long"},
        [(2,)],
    ),
    Case(
        "in an array of the row",
        "datatable(a:string, l:dynamic)['x', dynamic(['x', 'y']), 'z', dynamic(['x'])]"
        " | where a in (l) | project a",
        {"a": "string"},
        [("x",)],
    ),
    Case(
        "a dynamic value in a list of several types",
        "datatable(d:dynamic)[dynamic(1), dynamic('a'), dynamic('b')] | where d in (1, 'a') | count",
        {"Count": "long"},
        [(2,)],
    ),
    Case(
        "has_any of an array that let names",
        "let words = dynamic(['texas', 'georgia']); StormEvents | where State has_any (words) | count",
        {"Count": "long"},
        [(4,)],
    ),
    Case("has_any of no term", "print x = 'a' has_any (dynamic([]))", {"x": "bool"}, [(False,)]),
    Case("has_all of no term", "print x = 'a' has_all (dynamic([]))", {"x": "bool"}, [(True,)]),
    Case("in an empty array", "print x = 1 in (dynamic([]))", {"x": "bool"}, [(False,)]),
    Case("not in an empty array", "print x = 1 !in (dynamic([]))", {"x": "bool"}, [(True,)]),
    Case(
        "in values of the row",
        "StormEvents | where InjuriesDirect in (DeathsDirect, 17) | count",
        {"Count": "long"},
        [(5,)],
    ),
    Case(
        "toscalar of an aggregate",
        "StormEvents | where DamageProperty == toscalar(StormEvents | summarize max(DamageProperty))"
        " | project State",
        _STATES,
        [("KANSAS",)],
    ),
    Case(
        "toscalar that let names",
        "let last = toscalar(StormEvents | summarize max(StartTime));"
        " StormEvents | where StartTime >= last - 180d | project EventId",
        {"EventId": "long"},
        [(8,), (9,), (10,)],
    ),
    Case(
        "toscalar in arithmetic of let",
        "let total = toscalar(StormEvents | count); let half = total / 2; print half, total",
        {"half": "long", "total": "long"},
        [(5, 10)],
    ),
    Case(
        "toscalar of no row",
        "print x = toscalar(StormEvents | where false | project EventId)",
        {"x": "long"},
        [(None,)],
    ),
    Case(
        "toscalar takes the first column of the first row",
        "print x = toscalar(StormEvents | top 1 by EventId | project State, EventId)",
        {"x": "string"},
        [("GEORGIA",)],
    ),
    Case(
        "toscalar of a set",
        "let states = toscalar(StormEvents | summarize make_set(State));"
        " print n = array_length(states)",
        {"n": "long"},
        [(4,)],
    ),
    Case(
        "a share of a total",
        "let total = toscalar(StormEvents | summarize sum(DeathsDirect));"
        " StormEvents | summarize d = sum(DeathsDirect) by State | where d > 0"
        " | project State, share = round(100.0 * d / total)",
        {"State": "string", "share": "real"},
        [("TEXAS", 14.0), ("FLORIDA", 36.0), ("KANSAS", 50.0)],
    ),
]
