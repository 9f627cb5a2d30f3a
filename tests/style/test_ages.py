"""Ages in SQL come from `versions.clock`: a raw difference counts steps of the database's clock."""

import re
from pathlib import Path

import pytest

META = Path(__file__).parents[2] / "meta"
_CLOCK = r"(?:(?:now|(?:clock|statement|transaction)_timestamp)\(\)|current_timestamp\b)"
_ARITHMETIC = re.compile(
    rf"{_CLOCK}(?:\s+AT TIME ZONE '\w+')?\s*[-+]|[-+]\s*(?:func\.)?{_CLOCK}|\{{NOW\}}\s*[-+]",
    re.IGNORECASE,
)
# How often each module adds to the clock or subtracts from it, and why that is not a kept age.
ALLOWED = {
    "store/versions/clock.py": (1, "the one place: ages without gaps"),
    "store/access/access_tokens.py": (1, "the end of a token is a date that its creator chose"),
    "store/deletion/lifetimes.py": (1, "months of usage follow the calendar"),
    "store/merging/merge_claims.py": (3, "the end of a lease; the age UnclaimMergeTask asks for"),
    "store/merging/merge_debt.py": (1, "the planner's rule, by the clock as it is"),
    "store/merging/merge_failures.py": (1, "the end of a back-off, moved likewise"),
    "store/merging/merge_planning.py": (2, "the age filters of a call are by the clock as it is"),
    "store/streams/nursery_shards.py": (1, "the end of a lease, moved when the clock steps back"),
    "store/checks/server_facts.py": (1, "an age that is shown to people, and ends nothing"),
    "store/checks/object_checks.py": (1, "the end of a lease, moved when the clock steps back"),
    "store/damage/parked_streams.py": (1, "an age that is shown to people, and ends nothing"),
    "store/backups/backups.py": (2, "an end that was chosen, moved when the clock steps; shown"),
    "store/deletion/deletion_plan_statement.py": (1, "the end of a backup, in an hour to come"),
    "store/pins/pins.py": (3, "the end of a lease, moved when the clock steps"),
    "store/pins/pin_lists.py": (1, "an age that is shown to people, and ends nothing"),
    "store/rewrites/rewrite_advance.py": (2, "the pace of a job"),
    "store/deletion/vacuums.py": (1, "an age that is shown to people, and ends nothing"),
    "store/versions/witness_state.py": (
        1,
        "the pace of ticks: a step of the clock brings one early",
    ),
    "store/costs/reports.py": (1, "the time that a rate of idle time is of"),
    "store/workers/seen.py": (2, "an age that is shown to people, and ends nothing else"),
    "store/workers/servers.py": (2, "an age that is shown to people; that of a meta that may run"),
    "store/status/visibility_counts.py": (2, "statistics of an hour, which end nothing"),
    "store/status/token_ends.py": (1, "the end of a token is a date that its creator chose"),
    "store/streams/nursery_lags.py": (1, "an age that is shown to people, and ends nothing"),
    "store/merging/size_tiers.py": (2, "the age filters of a call are by the clock as it is"),
}


def arithmetic(text: str) -> list[str]:
    """Give the expressions that add to a clock of the database or subtract from it."""
    return [match[0].strip() for match in _ARITHMETIC.finditer(text)]


def test_ages_in_sql_come_from_one_module() -> None:
    uses = {
        path.relative_to(META).as_posix(): len(arithmetic(path.read_text()))
        for path in META.rglob("*.py")
        # A migration is frozen, and one defines the function that the module calls.
        if "migrations" not in path.parts
    }

    counted = {name: count for name, count in uses.items() if count}

    expected = {name: count for name, (count, _) in ALLOWED.items()}
    assert counted == expected, "use `clock.ago`, or say in ALLOWED why it is not a kept age"


@pytest.mark.parametrize(
    "sql",
    [
        "WHERE at < now() - make_interval(secs => :age)",
        "WHERE at <= now()- interval '1 day'",
        "now() + interval '1 second'",
        "func.now() - func.make_interval(0)",
        "now() AT TIME ZONE 'UTC' - interval '1 day'",
        "interval '1 day' + clock_timestamp()",
        "clock_timestamp() - created_at > interval '1 day'",
        "CURRENT_TIMESTAMP - interval '1 day'",
    ],
)
def test_arithmetic_is_recognised(sql: str) -> None:
    assert len(arithmetic(sql)) == 1


@pytest.mark.parametrize(
    "sql", ["SET at = now()", "WHERE at > now() AND x = -1", "SELECT now(), -1", "due < now() OR a"]
)
def test_other_uses_are_none(sql: str) -> None:
    assert arithmetic(sql) == []
