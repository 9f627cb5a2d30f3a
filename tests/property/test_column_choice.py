"""The choice of automatic columns by the records that have an attribute, over generated days."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meta.planning.column_choice import (
    ATTRIBUTES_MAX,
    CHOSEN_MAX,
    CHOSEN_SHARE_MIN,
    CHOSEN_TYPE_SHARE_MIN,
    DAY_HOURS,
    KEPT_SHARE_MIN,
    KEPT_TYPE_SHARE_MIN,
    PERIOD_HOURS,
    RECORDS_MIN,
    WEEK_HOURS,
    Column,
    CurrentColumns,
    SignalSums,
    Sums,
    choose,
    cut,
    period_of,
)
from segments.attribute_counts import AttributeCount

HOUR = 480_001
LOGS, TRACES = 1, 2
A_DAY = DAY_HOURS + PERIOD_HOURS
A_WEEK = WEEK_HOURS + PERIOD_HOURS


def texts(records: int) -> AttributeCount:
    return AttributeCount(records, records, 0)


def counted(length: int, sums: Mapping[int, SignalSums]) -> dict[int, Sums]:
    """Equal counts in each period from `length` hours ago on."""
    first = period_of(HOUR) - length
    return {period: dict(sums) for period in range(first, HOUR + 1, PERIOD_HOURS)}


def logs(**attributes: AttributeCount) -> dict[int, SignalSums]:
    return {LOGS: SignalSums(1_000, attributes)}


def chosen(*columns: Column) -> CurrentColumns:
    return CurrentColumns(chosen=columns, numbered=columns)


NOTHING = CurrentColumns()


def test_a_tenth_of_the_records_of_a_day_makes_a_column() -> None:
    sums = logs(often=texts(100), seldom=texts(99), number=AttributeCount(500, 0, 500))

    assert choose(counted(A_DAY, sums), HOUR, NOTHING) == (("number", "long"), ("often", "string"))
    assert choose(counted(A_DAY - PERIOD_HOURS, sums), HOUR, NOTHING) == ()


def test_one_signal_is_enough() -> None:
    sums = logs() | {TRACES: SignalSums(RECORDS_MIN, {"route": texts(900)})}

    assert choose(counted(A_DAY, sums), HOUR, NOTHING) == (("route", "string"),)


@pytest.mark.parametrize(("records", "columns"), [(RECORDS_MIN - 1, 0), (RECORDS_MIN, 1)])
def test_few_records_make_no_column_and_end_none(records: int, columns: int) -> None:
    long_ago, now = period_of(HOUR) - A_WEEK, period_of(HOUR)
    many = {LOGS: SignalSums(records, {"a": texts(records)})}
    others = {LOGS: SignalSums(records, {"b": texts(records)})}

    assert len(choose({long_ago: dict(logs()), now: many}, HOUR, NOTHING)) == columns
    left = choose({long_ago: dict(logs()), now: others}, HOUR, chosen(("a", "string")))
    assert (("a", "string") in left) == (columns == 0)


def test_an_attribute_of_mixed_types_is_no_column() -> None:
    sums = logs(mixed=AttributeCount(1_000, 980, 20), nearly=AttributeCount(1_000, 990, 10))

    assert choose(counted(A_DAY, sums), HOUR, NOTHING) == (("nearly", "string"),)


def test_a_column_stays_until_few_records_have_it_for_a_week() -> None:
    column = ("a", "string")
    few, enough = logs(a=texts(19)), logs(a=texts(20))

    assert choose(counted(A_WEEK, few), HOUR, chosen(column)) == ()
    assert choose(counted(A_WEEK - PERIOD_HOURS, few), HOUR, chosen(column)) == (column,)
    assert choose(counted(A_WEEK, enough), HOUR, chosen(column)) == (column,)


def test_a_column_of_the_last_day_does_not_leave_for_the_days_before_it() -> None:
    periods = counted(A_WEEK, logs()) | counted(DAY_HOURS, logs(a=texts(100)))

    column = choose(periods, HOUR, NOTHING)

    assert column == (("a", "string"),)
    assert choose(periods, HOUR, chosen(*column)) == column


def test_a_column_of_values_that_are_of_another_type_now_makes_room_for_it() -> None:
    sums = counted(A_WEEK, logs(a=AttributeCount(1_000, 5, 995)))

    assert choose(sums, HOUR, chosen(("a", "string"))) == (("a", "long"),)


def test_a_week_without_records_ends_no_column() -> None:
    long_ago = {period_of(HOUR) - A_WEEK: dict(logs())}

    assert choose(long_ago, HOUR, chosen(("a", "string"))) == (("a", "string"),)


def test_counts_of_the_future_are_passed_over() -> None:
    ahead = {period_of(HOUR) + 24: dict(logs(ghost=texts(1_000)))}

    columns = choose(counted(A_DAY, logs(a=texts(500))) | ahead, HOUR, NOTHING)

    assert columns == (("a", "string"),)


def test_what_people_listed_is_left_to_them() -> None:
    sums = counted(A_WEEK, logs(a=texts(900), b=texts(900)))
    current = CurrentColumns(chosen=[("a", "long")], listed=["a"])

    assert choose(sums, HOUR, current) == (("b", "string"),)


def test_columns_without_a_field_id_keep_none_from_those_with_one() -> None:
    new = {f"new{number}": texts(900) for number in range(CHOSEN_MAX)}
    sums = counted(A_DAY, logs(known=texts(500), **new))
    known = ("known", "string")

    columns = choose(sums, HOUR, CurrentColumns(numbered=[known], new_max=2))

    assert len(columns) == 3
    assert columns[-1] == known


COUNTS = st.builds(
    lambda strings, longs, others: AttributeCount(strings + longs + others, strings, longs),
    st.integers(0, 2_000),
    st.sampled_from([0, 0, 1, 500]),
    st.sampled_from([0, 0, 7]),
)
NAMES = [f"k{number}" for number in range(50)]
SUMS = st.dictionaries(
    st.sampled_from([LOGS, TRACES]),
    st.builds(SignalSums, st.integers(0, 4_000), st.dictionaries(st.sampled_from(NAMES), COUNTS)),
)
PERIODS = st.dictionaries(
    st.integers(0, 2 * WEEK_HOURS // PERIOD_HOURS).map(
        lambda number: period_of(HOUR) - number * PERIOD_HOURS
    ),
    SUMS,
    max_size=12,
)
COLUMNS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(["string", "long"])),
    unique_by=lambda column: column[0],
    max_size=CHOSEN_MAX,
)


@given(PERIODS, COLUMNS, st.sets(st.sampled_from(NAMES), max_size=5))
def test_each_choice_follows_the_shares(
    periods: dict[int, Sums], before: list[Column], listed: set[str]
) -> None:
    current = CurrentColumns(before, listed, before)

    after = choose(periods, HOUR, current)

    assert len(after) <= CHOSEN_MAX
    attributes = [attribute for attribute, _ in after]
    assert len(set(attributes)) == len(attributes)
    assert not listed.intersection(attributes)
    for column in set(after) - set(before):
        exact, share = in_window(periods, column, DAY_HOURS)
        assert share >= CHOSEN_SHARE_MIN
        assert exact >= CHOSEN_TYPE_SHARE_MIN
    for column in set(before) - set(after):
        exact, share = in_window(periods, column, WEEK_HOURS)
        assert column[0] in listed or share < KEPT_SHARE_MIN or exact < KEPT_TYPE_SHARE_MIN
    # The same counts give the same columns again, unless a mixed one was of use for the day alone.
    again = choose(periods, HOUR, CurrentColumns(after, listed, after))
    ended = set(after) - set(again)
    assert all(in_window(periods, c, WEEK_HOURS)[0] < KEPT_TYPE_SHARE_MIN for c in ended)


def in_window(periods: dict[int, Sums], column: Column, length: int) -> tuple[float, float]:
    """The part of an attribute's values that is of the type, and its best share of a signal."""
    shares, exacts, alls = [0.0], 0, 0
    for signal in (LOGS, TRACES):
        own = [
            sums[signal]
            for period, sums in periods.items()
            if signal in sums and period >= period_of(HOUR) - length
        ]
        records = sum(of.records for of in own)
        counts = [of.attributes[column[0]] for of in own if column[0] in of.attributes]
        exact = sum(count.strings if column[1] == "string" else count.longs for count in counts)
        exacts, alls = exacts + exact, alls + sum(count.records for count in counts)
        if records >= RECORDS_MIN:
            shares.append(exact / records)
    return (exacts / alls if alls else 1.0), max(shares)


@pytest.mark.parametrize(("number", "kept"), [(ATTRIBUTES_MAX, 0), (ATTRIBUTES_MAX + 1, 1)])
def test_the_rarest_attributes_are_forgotten_beyond_a_limit(number: int, kept: int) -> None:
    every = {f"k{rank}": texts(rank) for rank in range(number)}
    sums = {
        LOGS: SignalSums(1_000, {name: every[name] for name in list(every)[::2]}),
        TRACES: SignalSums(1_000, {name: every[name] for name in list(every)[1::2]}),
    }

    cut(sums)

    left = {name for own in sums.values() for name in own.attributes}
    assert len(left) == ATTRIBUTES_MAX
    assert left == set(list(every)[kept:])
