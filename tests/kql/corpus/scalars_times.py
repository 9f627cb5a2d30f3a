"""Functions over times and timespans.

Times have microseconds here, Kusto's have 100 ns: ends of days are written so.
"""

from tests.kql.corpus.case import Case, scalar

_AT = "datetime(2017-01-01 10:10:17)"
_PART = "datetime(2017-10-30 01:02:03.765432)"
_SPAN = "time(29.09:00:05.12345)"
_PARTS = {
    "year": 2017, "quarter": 4, "month": 10, "week_of_year": 44, "day": 30, "dayOfYear": 303,
    "hour": 1, "minute": 2, "second": 3, "millisecond": 765, "microsecond": 765432,
    "nanosecond": 765432000,
}  # fmt: skip
_ADDED = {
    ("year", 1): "2018-01-01", ("quarter", 1): "2017-04-01", ("month", 1): "2017-02-01",
    ("week", 1): "2017-01-08", ("day", 1): "2017-01-02", ("hour", 1): "2017-01-01T01:00",
    ("minute", 1): "2017-01-01T00:01", ("second", 1): "2017-01-01T00:00:01",
    ("year", -5): "2012-01-01", ("quarter", 12): "2020-01-01", ("month", -15): "2015-10-01",
    ("week", 100): "2018-12-02",
}  # fmt: skip
_DIFFERENCES = [
    ("year", "2017-01-01", "2000-12-31", 17),
    ("quarter", "2017-07-01", "2017-03-30", 2),
    ("month", "2017-01-01", "2015-12-30", 13),
    ("week", "2017-10-29 00:00", "2017-09-30 23:59", 5),
    ("day", "2017-10-29 00:00", "2017-09-30 23:59", 29),
    ("hour", "2017-10-31 01:00", "2017-10-30 23:59", 2),
    ("minute", "2017-10-30 23:05:01", "2017-10-30 23:00:59", 5),
    ("second", "2017-10-30 23:00:10.100", "2017-10-30 23:00:00.900", 10),
    ("millisecond", "2017-10-30 23:00:00.200100", "2017-10-30 23:00:00.100900", 100),
    ("microsecond", "2017-10-30 23:00:00.100900", "2017-10-30 23:00:00.100800", 100),
    ("nanosecond", "2017-10-30 23:00:00", "2017-10-30 23:00:00.000007", -7000),
]
_STARTS = {
    "day": ("2016-12-31", "2017-01-01", "2017-01-02"),
    "week": ("2016-12-25", "2017-01-01", "2017-01-08"),
    "month": ("2016-12-01", "2017-01-01", "2017-02-01"),
    "year": ("2016-01-01", "2017-01-01", "2018-01-01"),
}
_ENDS = {
    "day": ("2016-12-31", "2017-01-01", "2017-01-02"),
    "week": ("2016-12-31", "2017-01-07", "2017-01-14"),
    "month": ("2016-12-31", "2017-01-31", "2017-02-28"),
    "year": ("2016-12-31", "2017-12-31", "2018-12-31"),
}
_LAST = "T23:59:59.999999"


def _of_starts_and_ends() -> list[Case]:
    cases = []
    for part in _STARTS:
        for offset, start, end in zip((-1, 0, 1), _STARTS[part], _ENDS[part], strict=True):
            cases.append(scalar(f"startof{part} and {offset}", f"startof{part}({_AT}, {offset})",
                                "datetime", start))  # fmt: skip
            cases.append(scalar(f"endof{part} and {offset}", f"endof{part}({_AT}, {offset})",
                                "datetime", f"{end}{_LAST}"))  # fmt: skip
        cases.append(
            scalar(f"startof{part}", f"startof{part}({_AT})", "datetime", _STARTS[part][1])
        )
    return cases


CASES: list[Case] = [
    *_of_starts_and_ends(),
    *(
        scalar(f"datetime_part {part}", f"datetime_part('{part}', {_PART})", "int", value)
        for part, value in _PARTS.items()
    ),
    *(
        scalar(f"datetime_add {n} {part}", f"datetime_add('{part}', {n}, make_datetime(2017,1,1))",
               "datetime", value)
        for (part, n), value in _ADDED.items()
    ),
    *(
        scalar(f"datetime_diff of {part}s",
               f"datetime_diff('{part}', datetime({a}), datetime({b}))", "long", value)
        for part, a, b, value in _DIFFERENCES
    ),
    scalar("week_of_year 53", "week_of_year(datetime(2020-12-31))", "int", 53),
    scalar("week_of_year 25", "week_of_year(datetime(2020-06-15))", "int", 25),
    scalar("week_of_year 1", "week_of_year(datetime(1970-01-01))", "int", 1),
    scalar("week_of_year of the year before", "week_of_year(datetime(2000-01-01))", "int", 52),
    scalar("dayofweek", "dayofweek(datetime(2015-12-14))", "timespan", "1.00:00:00"),
    scalar("dayofmonth", "dayofmonth(datetime(2015-12-14))", "int", 14),
    scalar("dayofyear", "dayofyear(datetime(2015-12-14))", "int", 348),
    scalar("hourofday", "hourofday(datetime(2015-12-14 18:54))", "int", 18),
    scalar("monthofyear", "monthofyear(datetime(2015-12-14))", "int", 12),
    scalar("getyear", "getyear(datetime(2015-10-12))", "int", 2015),
    scalar("make_datetime of a day", "make_datetime(2017, 10, 01)", "datetime", "2017-10-01"),
    scalar("make_datetime of a minute", "make_datetime(2017, 10, 01, 12, 10)", "datetime",
           "2017-10-01T12:10"),
    scalar("make_datetime of a second", "make_datetime(2017, 10, 01, 12, 11, 0.123456)",
           "datetime", "2017-10-01T12:11:00.123456"),
    scalar("make_datetime of no month", "make_datetime(2017, 13, 01)", "datetime", None),
    scalar("make_timespan", "make_timespan(1, 12, 30, 55.123)", "timespan", "1.12:30:55.1230000"),
    scalar("unixtime_seconds_todatetime", "unixtime_seconds_todatetime(1546300800)", "datetime",
           "2019-01-01"),
    scalar("unixtime_milliseconds_todatetime", "unixtime_milliseconds_todatetime(1546300800000)",
           "datetime", "2019-01-01"),
    scalar("unixtime_microseconds_todatetime",
           "unixtime_microseconds_todatetime(1546300800000000)", "datetime", "2019-01-01"),
    scalar("unixtime_nanoseconds_todatetime",
           "unixtime_nanoseconds_todatetime(1546300800000000000)", "datetime", "2019-01-01"),
    scalar("format_timespan", f"format_timespan({_SPAN}, 'dd.hh:mm:ss:FF')", "string",
           "29.09:00:05:12"),
    scalar("format_timespan with wide parts",
           f"format_timespan({_SPAN}, 'ddd.h:mm:ss [fffffff]')", "string", "029.9:00:05 [1234500]"),
    scalar("totimespan of a text", "totimespan('0.00:03:00')", "timespan", "00:03:00"),
    scalar("totimespan of days", "totimespan(4d)", "timespan", "4.00:00:00"),
    scalar("totimespan of a product", "totimespan(5 * 1h)", "timespan", "05:00:00"),
    scalar("totimespan compared", "totimespan('0.00:01:00') == time(1min)", "bool", True),
    scalar("tostring of a timespan", "tostring(1d + 2h + 30m)", "string", "1.02:30:00"),
    scalar("format_datetime", "format_datetime(datetime(2017-01-29 09:00:05), 'yyyy-MM-dd HH:mm')",
           "string", "2017-01-29 09:00"),
    scalar("format_datetime of a short year",
           "format_datetime(datetime(2017-01-29 09:00:05), 'yy-MM-dd [HH:mm:ss]')", "string",
           "17-01-29 [09:00:05]"),
    scalar("format_datetime of single digits",
           "format_datetime(datetime(2017-01-29 09:00:05), 'yyyy-M-dd [H:mm:ss]')", "string",
           "2017-1-29 [9:00:05]"),
    scalar("format_datetime before noon",
           "format_datetime(datetime(2017-01-29 09:00:05), 'yy-MM-dd [hh:mm:ss tt]')", "string",
           "17-01-29 [09:00:05 AM]"),
    scalar("bin of a time", "bin(datetime(1970-05-11 13:45:07), 1d)", "datetime", "1970-05-11"),
    scalar("bin of a timespan", "bin(time(16d), 7d)", "timespan", "14.00:00:00"),
    scalar("bin of a real", "bin(4.5, 1)", "real", 4.0),
    scalar("bin_at of reals", "bin_at(6.5, 2.5, 7)", "real", 4.5),
    scalar("bin_at of timespans", "bin_at(time(1h), 1d, 12h)", "timespan", "-12:00:00"),
    scalar("bin_at noon",
           "bin_at(datetime(2017-05-15 10:20:00.0), 1d, datetime(1970-01-01 12:00:00.0))",
           "datetime", "2017-05-14T12:00"),
    scalar("bin_at of weeks",
           "bin_at(datetime(2017-05-17 10:20:00.0), 7d, datetime(2017-06-04 00:00:00.0))",
           "datetime", "2017-05-14"),
    scalar("todatetime", "todatetime('2015-12-24') == datetime(2015-12-24)", "bool", True),
    scalar("a difference of times", "datetime(2024-03-02) - datetime(2024-03-01)", "timespan",
           "1.00:00:00"),
    scalar("a quotient of timespans", "1h / 1m", "real", 60.0),
    Case(
        "bin by days",
        "StormEvents | where State == 'TEXAS' | summarize n = count() by bin(StartTime, 30d)"
        " | summarize bins = count(), n = sum(n)",
        {"bins": "long", "n": "long"},
        [(2, 3)],
    ),
    Case(
        "durations of a column", "StormEvents | where EventId <= 2"
        " | project EventId, duration = EndTime - StartTime",
        {"EventId": "long", "duration": "timespan"}, [(1, "06:00:00"), (2, "12:00:00")],
    ),
]  # fmt: skip
