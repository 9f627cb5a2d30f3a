"""Functions of let, as Kusto documents them."""

from tests.kql.corpus.case import Case

CASES = [
    Case(
        "a function of a value", "let f = (x:long) { x * 2 }; print y = f(3)", {"y": "long"}, [(6,)]
    ),
    Case(
        "a function with a default",
        "let f = (x:long, y:long = 10) { x + y }; print a = f(1), b = f(1, 2)",
        {"a": "long", "b": "long"},
        [(11, 3)],
    ),
    Case(
        "a function with its own names",
        "let f = (x:long) { let y = x + 1; y * y }; print a = f(2)",
        {"a": "long"},
        [(9,)],
    ),
    Case(
        "a function of a function",
        "let f = (x:long) { x + 1 }; let g = (x:long) { f(f(x)) }; print a = g(1)",
        {"a": "long"},
        [(3,)],
    ),
    Case(
        "a function over a column",
        "let isBig = (damage:long) { damage > 100000 };"
        " StormEvents | where isBig(DamageProperty) | project EventId",
        {"EventId": "long"},
        [(2,), (3,), (6,), (7,)],
    ),
    Case(
        "a function within an aggregate",
        "let f = (x:int) { x > 0 }; StormEvents | summarize n = countif(f(DeathsDirect))",
        {"n": "long"},
        [(4,)],
    ),
    Case(
        "a function that sees a value of let",
        "let least = 10; let f = (x:int) { x >= least };"
        " StormEvents | where f(DeathsDirect) | project EventId",
        {"EventId": "long"},
        [(6,)],
    ),
    Case(
        "a function of texts",
        "let full = (a:string, b:string) { strcat(a, '/', b) }; print x = full('a', 'b')",
        {"x": "string"},
        [("a/b",)],
    ),
    Case(
        "a function that yields a table",
        "let deadly = (least:int) { StormEvents | where DeathsDirect >= least };"
        " deadly(2) | project EventId",
        {"EventId": "long"},
        [(3,), (6,), (7,)],
    ),
    Case(
        "a function without parameters",
        "let f = () { StormEvents | where State == 'GEORGIA' }; f() | project EventId",
        {"EventId": "long"},
        [(10,)],
    ),
    Case(
        "a function with a named argument",
        "let f = (a:long = 1, b:long = 2) { print x = a * 10 + b }; f(b = 5)",
        {"x": "long"},
        [(15,)],
    ),
    Case(
        "a function of a table",
        "let first = (T:(EventId:long), n:long) { T | top n by EventId asc | project EventId };"
        " first((StormEvents | where State == 'KANSAS'), 2)",
        {"EventId": "long"},
        [(4,), (5,)],
    ),
    Case(
        "a function of any table",
        "let size = (T:(*)) { T | count }; size(StormEvents)",
        {"Count": "long"},
        [(10,)],
    ),
    Case(
        "invoke",
        "let deadly = (T:(DeathsDirect:int), least:int) { T | where DeathsDirect >= least };"
        " StormEvents | where State == 'TEXAS' | invoke deadly(2) | project EventId",
        {"EventId": "long"},
        [(7,)],
    ),
    Case(
        "a view",
        "let v = view () { print x = 1 }; union v(), (print x = 2)",
        {"x": "long"},
        [(1,), (2,)],
    ),
    Case(
        "a table of a function that let names",
        "let f = (n:long) { range x from 1 to 3 step 1 | where x > n }; let t = f(1); t | count",
        {"Count": "long"},
        [(2,)],
    ),
    Case(
        "in the table of a function",
        "let f = () { datatable(s:string)['TEXAS'] }; StormEvents | where State in (f()) | count",
        {"Count": "long"},
        [(3,)],
    ),
]
