"""The corpus's own tables: storms, logs, spans and numbers, small enough to check by hand."""

from typing import Any

from kql.typed import Columns, Table

Rows = list[tuple[Any, ...]]

STORMS: Columns = {
    "StartTime": "datetime",
    "EndTime": "datetime",
    "EventId": "long",
    "State": "string",
    "EventType": "string",
    "InjuriesDirect": "int",
    "DeathsDirect": "int",
    "DamageProperty": "long",
    "DamageCrops": "long",
    "Source": "string",
    "BeginLat": "real",
    "BeginLon": "real",
    "EventNarrative": "string",
    "StormSummary": "dynamic",
}
_SUMMARY = '{{"TotalDamages":{0},"Details":{{"Description":"{1}","Location":"{2}"}}}}'
STORM_ROWS: Rows = [
    ("2007-01-01 00:00:00Z", "2007-01-01 06:00:00Z", 1, "TEXAS", "Flash Flood", 0, 0, 5000, 0,
     "Law Enforcement", 29.5, -98.4, "Low water crossings were closed.",
     _SUMMARY.format(5000, "Crossings closed", "TEXAS")),
    ("2007-01-14 09:30:00Z", "2007-01-14 21:30:00Z", 2, "TEXAS", "Ice Storm", 3, 1, 250000, 1000,
     "Emergency Manager", 31.1, -97.3, "Ice brought down power lines.",
     _SUMMARY.format(251000, "Ice", "TEXAS")),
    ("2007-02-02 03:17:00Z", "2007-02-02 03:40:00Z", 3, "FLORIDA", "Tornado", 17, 8, 1000000, 0,
     "NWS Storm Survey", 28.9, -81.9, "A tornado touched down near Lady Lake.",
     _SUMMARY.format(1000000, "Tornado", "FLORIDA")),
    ("2007-02-13 00:00:00Z", "2007-02-14 12:00:00Z", 4, "KANSAS", "Winter Storm", 0, 0, 0, 0,
     "Trained Spotter", 38.2, -97.1, "", _SUMMARY.format(0, "Snow", "KANSAS")),
    ("2007-03-01 14:10:00Z", "2007-03-01 14:20:00Z", 5, "KANSAS", "Tornado", 2, 0, 75000, 500,
     "Trained Spotter", 37.4, -95.6, "Roof damage, trees were uprooted.",
     _SUMMARY.format(75500, "Roofs", "KANSAS")),
    ("2007-05-04 21:05:00Z", "2007-05-04 22:02:00Z", 6, "KANSAS", "Tornado", 63, 11, 250000000, 0,
     "NWS Storm Survey", 37.6, -99.3, "The town of Greensburg was destroyed.",
     _SUMMARY.format(250000000, "Greensburg", "KANSAS")),
    ("2007-06-27 18:00:00Z", "2007-06-28 02:00:00Z", 7, "TEXAS", "Flash Flood", 0, 2, 800000, 20000,
     "Law Enforcement", 30.6, -98.3, "Eighteen inches of rain fell.",
     _SUMMARY.format(820000, "Rain", "TEXAS")),
    ("2007-07-14 16:00:00Z", "2007-07-14 16:05:00Z", 8, "FLORIDA", "Lightning", 1, 0, 0, 0,
     "Newspaper", 27.9, -82.5, "A man was struck on the beach.", None),
    ("2007-09-18 20:00:00Z", "2007-09-19 18:00:00Z", 9, "FLORIDA", "Heavy Rain", 0, 0, 0, 0,
     "Trained Spotter", 29.3, -81.0, "As much as 9 inches of rain fell.",
     _SUMMARY.format(0, "Rain", "FLORIDA")),
    ("2007-12-30 16:00:00Z", "2007-12-30 16:05:00Z", 10, "GEORGIA", "Thunderstorm Wind", 0, 0, 2000,
     0, "Law Enforcement", 32.7, -83.4, "Large trees were blown down.",
     _SUMMARY.format(2000, "Wind", "GEORGIA")),
]  # fmt: skip

LOGS: Columns = {
    "Timestamp": "datetime",
    "Level": "string",
    "Service": "string",
    "Message": "string",
    "DurationMs": "real",
    "Status": "int",
    "ClientIp": "string",
    "Properties": "dynamic",
}
LOG_ROWS: Rows = [
    ("2024-03-01 10:00:00Z", "Info", "cart", "GET /cart took 12 ms", 12.0, 200, "10.0.0.1",
     '{"user":"ann","retries":0,"tags":["web","eu"]}'),
    ("2024-03-01 10:00:30Z", "Info", "cart", "POST /cart took 48 ms", 48.0, 201, "10.0.0.2",
     '{"user":"bob","retries":1,"tags":["web"]}'),
    ("2024-03-01 10:01:10Z", "Error", "pay", "card refused: code=402", 95.5, 402, "192.168.1.7",
     '{"user":"ann","retries":2,"tags":[]}'),
    ("2024-03-01 10:02:00Z", "Warning", "pay", "slow answer of bank", 1800.0, 200, "192.168.1.7",
     '{"user":"cid"}'),
    ("2024-03-01 10:05:00Z", "Error", "cart", "timeout after 3000 ms", 3000.0, 504, "8.8.8.8",
     '{"user":"ann","retries":5,"tags":["eu","late"]}'),
    ("2024-03-01 10:05:01Z", "Info", "mail", "", None, None, "", None),
]  # fmt: skip

SPANS: Columns = {
    "TraceId": "string",
    "SpanId": "string",
    "ParentId": "string",
    "Name": "string",
    "Start": "datetime",
    "Duration": "timespan",
    "IsError": "bool",
}
SPAN_ROWS: Rows = [
    ("t1", "a", "", "GET /", "2024-03-01 10:00:00Z", 120_000_000, False),
    ("t1", "b", "a", "SELECT", "2024-03-01 10:00:00.010Z", 30_000_000, False),
    ("t1", "c", "a", "render", "2024-03-01 10:00:00.050Z", 60_000_000, False),
    ("t2", "d", "", "POST /pay", "2024-03-01 10:01:00Z", 2_500_000_000, True),
    ("t2", "e", "d", "bank", "2024-03-01 10:01:00.100Z", 2_300_000_000, True),
]

NUMBERS: Columns = {"n": "long", "r": "real", "s": "string", "b": "bool"}
NUMBER_ROWS: Rows = [
    (1, 0.5, "one", True),
    (2, 1.5, "two", False),
    (3, None, "three", True),
    (4, 2.5, "", None),
    (5, -4.0, "five", False),
    (None, 10.0, "none", True),
]

TABLES: dict[str, tuple[Columns, Rows]] = {
    "StormEvents": (STORMS, STORM_ROWS),
    "Logs": (LOGS, LOG_ROWS),
    "Spans": (SPANS, SPAN_ROWS),
    "Numbers": (NUMBERS, NUMBER_ROWS),
}
SCHEMA = {name: Table(name, columns, {}) for name, (columns, _) in TABLES.items()}
NOW_MICROS = 1_709_287_200_000_000
