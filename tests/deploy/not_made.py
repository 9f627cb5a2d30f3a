"""Alerts whose cause cannot be made on one machine within minutes, with the reason.

docs/alerts.md has them in a table, which `make gen` writes.
"""

from collections.abc import Mapping

NOT_MADE: Mapping[str, str] = {"SegplaneScrubStalls": "looks two days back"}
# Those of a slow store and of wrong clocks, which a stack of their own fires.
OF_STORE_AND_CLOCKS = frozenset(
    {
        "SegplaneCollectorFull",
        "SegplaneClockOff",
        "SegplaneStoreClockOff",
        "SegplaneDatabaseClockSteps",
    }
)
