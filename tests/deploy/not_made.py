"""Alerts whose cause cannot be made on one machine within minutes, with the reason.

docs/alerts.md has them in a table, which `make gen` writes.
"""

from collections.abc import Mapping

NOT_MADE: Mapping[str, str] = {
    "SegplaneMergesDeferred": "needs a merge worker of a later release",
    "SegplaneCollectorFull": "needs a store that answers slowly, which a folder does not",
    "SegplaneClockOff": "needs a process with another clock than Postgres, hence another machine",
    "SegplaneStoreClockOff": "needs a store with another clock than Postgres",
    "SegplaneDatabaseClockSteps": "needs the right to set the clock of the machine",
    "SegplaneScrubStalls": "looks two days back",
    "SegplaneFsckNotRun": "looks eight days back",
}
