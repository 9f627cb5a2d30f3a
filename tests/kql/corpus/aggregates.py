"""Aggregates over the corpus's tables."""

from typing import Any

from kql.types import KqlType
from tests.kql.corpus.case import Case


def _of_numbers(aggregate: str, type_: KqlType, value: Any, unsupported: str = "") -> Case:
    query = f"Numbers | summarize x = {aggregate}"
    return Case(aggregate, query, {"x": type_}, [(value,)], unsupported=unsupported)


def _sorted(aggregate: str, values: list[Any]) -> Case:
    query = f"Numbers | summarize l = {aggregate} | project x = array_sort_asc(l)"
    return Case(f"{aggregate}, sorted", query, {"x": "dynamic"}, [(values,)])


CASES: list[Case] = [
    _of_numbers("count()", "long", 6),
    _of_numbers("countif(n > 2)", "long", 3),
    _of_numbers("sum(n)", "long", 15),
    _of_numbers("sumif(n, n > 2)", "long", 12),
    _of_numbers("avg(n)", "real", 3.0),
    _of_numbers("avgif(n, b)", "real", 2.0),
    _of_numbers("min(r)", "real", -4.0),
    _of_numbers("minif(r, b)", "real", 0.5),
    _of_numbers("max(r)", "real", 10.0),
    _of_numbers("maxif(n, not(b))", "long", 5),
    _of_numbers("dcount(b)", "long", 2),
    _of_numbers("dcount(s, 2)", "long", 6),
    _of_numbers("dcountif(n, n > 2)", "long", 3),
    _of_numbers("count_distinct(n)", "long", 5),
    _of_numbers("count_distinctif(n, n < 3)", "long", 2),
    _of_numbers("stdev(n)", "real", 2.5**0.5),
    _of_numbers("stdevif(n, n < 4)", "real", 1.0),
    _of_numbers("stdevp(n)", "real", 2.0**0.5),
    _of_numbers("variance(n)", "real", 2.5),
    _of_numbers("varianceif(n, n < 4)", "real", 1.0),
    _of_numbers("variancep(n)", "real", 2.0),
    _of_numbers("variancepif(n, n < 3)", "real", 0.25),
    _of_numbers("percentile(n, 50)", "long", 3),
    _of_numbers("percentiles_array(n, 20, 50, 100)", "dynamic", [1, 3, 5]),
    _of_numbers("percentiles_array(n, dynamic([50, 100]))", "dynamic", [3, 5]),
    _of_numbers("percentilew(n, n, 50)", "long", 4, "percentiles have no weights"),
    _of_numbers("binary_all_and(n)", "long", 0),
    _of_numbers("binary_all_or(n)", "long", 7),
    _of_numbers("binary_all_xor(n)", "long", 1),
    _of_numbers("make_set(n)", "dynamic", [1, 2, 3, 4, 5]),
    _of_numbers("make_set(n, 2)", "dynamic", [1, 2]),
    _of_numbers("make_set_if(n, n > 3)", "dynamic", [4, 5]),
    _of_numbers("make_set_if(n, n > 1, 2)", "dynamic", [2, 3]),
    _of_numbers("array_length(make_list(n, 2))", "long", 2),
    _of_numbers("array_length(make_list_if(n, n > 1, 3))", "long", 3),
    _of_numbers("array_length(make_list_with_nulls(n))", "long", 6),
    _of_numbers("take_anyif(n, n == 3)", "long", 3),
    _sorted("make_list(n)", [1, 2, 3, 4, 5]),
    _sorted("make_list_if(n, n > 2)", [3, 4, 5]),
    _sorted("make_list_with_nulls(n)", [1, 2, 3, 4, 5, None]),
    Case("percentiles", "Numbers | summarize percentiles(n, 20, 100)",
         {"percentile_n_20": "long", "percentile_n_100": "long"}, [(1, 5)]),
    Case("make_bag", "Spans | summarize x = make_bag(bag_pack(Name, SpanId))", {"x": "dynamic"},
         [({"GET /": "a", "SELECT": "b", "render": "c", "POST /pay": "d", "bank": "e"},)]),
    Case("make_bag of a bag", "print p = dynamic({\"prop01\": \"val_a\"})"
         " | union (print p = dynamic({\"prop02\": \"val_b\"})) | summarize x = make_bag(p)",
         {"x": "dynamic"}, [({"prop01": "val_a", "prop02": "val_b"},)]),
    Case("make_bag_if", "Spans | summarize x = make_bag_if(bag_pack(Name, SpanId), IsError)",
         {"x": "dynamic"}, [({"POST /pay": "d", "bank": "e"},)]),
    Case("names of results", "Numbers | summarize sum(n), avg(r), dcount(s), make_set(n),"
         " make_set_if(n, b), stdevp(n), binary_all_or(n) by b | count", {"Count": "long"}, [(3,)]),
    Case("names that Kusto gives", "Numbers | where n > 4 | summarize sum(n), make_set_if(n, n > 1),"
         " variancep(n), binary_all_or(n)",
         {"sum_n": "long", "set_n": "dynamic", "variancep_n": "real", "n": "long"},
         [(5, [5], 0.0, 5)]),
    Case("arg_max of a column", "StormEvents | summarize arg_max(DamageProperty, EventType)",
         {"DamageProperty": "long", "EventType": "string"}, [(250000000, "Tornado")]),
    Case("arg_max of several", "StormEvents | summarize arg_max(DeathsDirect, State, EventId)",
         {"DeathsDirect": "int", "State": "string", "EventId": "long"}, [(11, "KANSAS", 6)]),
    Case("arg_min by a group", "StormEvents | summarize arg_min(StartTime, EventType) by State",
         {"State": "string", "StartTime": "datetime", "EventType": "string"},
         [("TEXAS", "2007-01-01", "Flash Flood"), ("FLORIDA", "2007-02-02T03:17", "Tornado"),
          ("KANSAS", "2007-02-13", "Winter Storm"),
          ("GEORGIA", "2007-12-30T16:00", "Thunderstorm Wind")]),
    Case("arg_max of every column", "Spans | summarize arg_max(Duration, *) by TraceId"
         " | project TraceId, Duration, SpanId",
         {"TraceId": "string", "Duration": "timespan", "SpanId": "string"},
         [("t1", "00:00:00.12", "a"), ("t2", "00:00:02.5", "d")]),
    Case("count by state", "StormEvents | summarize Events = count() by State",
         {"State": "string", "Events": "long"},
         [("TEXAS", 3), ("FLORIDA", 3), ("KANSAS", 3), ("GEORGIA", 1)]),
    Case("countif by state", "StormEvents | summarize n = countif(DeathsDirect > 0) by State",
         {"State": "string", "n": "long"},
         [("TEXAS", 2), ("FLORIDA", 1), ("KANSAS", 1), ("GEORGIA", 0)]),
    Case("the mean of timespans", "Spans | summarize x = avg(Duration), m = max(Duration) by IsError",
         {"IsError": "bool", "x": "timespan", "m": "timespan"},
         [(False, "00:00:00.07", "00:00:00.12"), (True, "00:00:02.4", "00:00:02.5")]),
    Case("a quotient of aggregates", "Logs | summarize errors = 100.0 * countif(Level == 'Error')"
         " / count()", {"errors": "real"}, [(100 / 3,)]),
    Case("dcount by day", "StormEvents | summarize types = dcount(EventType) by State"
         " | where types > 2", {"State": "string", "types": "long"}, [("FLORIDA", 3)]),
]  # fmt: skip
