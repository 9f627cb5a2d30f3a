"""Functions over texts."""

from tests.segplane.kql.corpus.case import Case, scalar

CASES: list[Case] = [
    scalar("tolower", "tolower('Hello') == 'hello'", "bool", True),
    scalar("toupper", "toupper('hello') == 'HELLO'", "bool", True),
    scalar("strlen of a word", "strlen('hello')", "long", 5),
    scalar("strlen of characters beyond ASCII", "strlen('⒦⒰⒮⒯⒪')", "long", 5),
    Case(
        "strlen of a column",
        "StormEvents | where State startswith 'T' | distinct State | extend n = strlen(State)",
        {"State": "string", "n": "long"},
        [("TEXAS", 5)],
    ),
]
