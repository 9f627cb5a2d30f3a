"""The choice of automatic columns by the records that have an attribute, over generated days."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meta.planning.column_choice import (
    ATTRIBUTES_MAX,
    CHOSEN_MAX,
    CHOSEN_SHARE_MIN,
    DAY_HOURS,
    KEPT_SHARE_MIN,
    PERIOD_HOURS,
    WEEK_HOURS,
    AttributeSum,
    Column,
    SignalSums,
    Sums,
    choose,
    period_of,
)

HOUR = 480_001
LOGS, TRACES = 1, 2
A_DAY = DAY_HOURS + PERIOD_HOURS
A_WEEK = WEEK_HOURS + PERIOD_HOURS


def texts(records: int) -> AttributeSum:
    return AttributeSum(records, records, 0)


def counted(length: int, sums: Mapping[int, SignalSums]) -> dict[int, Sums]:
    """Equal counts in each period from `length` hours ago on."""
    first = period_of(HOUR) - length
    return {period: dict(sums) for period in range(first, HOUR + 1, PERIOD_HOURS)}


def logs(**attributes: AttributeSum) -> dict[int, SignalSums]:
    return {LOGS: SignalSums(1_000, attributes)}


def test_a_tenth_of_the_records_of_a_day_makes_a_column() -> None:
    sums = logs(often=texts(100), seldom=texts(99), number=AttributeSum(500, 0, 500))

    assert choose(counted(A_DAY, sums), HOUR, (), ()) == (("number", "long"), ("often", "string"))
    assert choose(counted(A_DAY - PERIOD_HOURS, sums), HOUR, (), ()) == ()


def test_one_signal_is_enough() -> None:
    sums = logs() | {TRACES: SignalSums(10, {"route": texts(9)})}

    assert choose(counted(A_DAY, sums), HOUR, (), ()) == (("route", "string"),)


def test_an_attribute_of_mixed_types_is_no_column() -> None:
    sums = logs(mixed=AttributeSum(1_000, 980, 20), nearly=AttributeSum(1_000, 990, 10))

    assert choose(counted(A_DAY, sums), HOUR, (), ()) == (("nearly", "string"),)


def test_a_column_stays_until_few_records_have_it_for_a_week() -> None:
    chosen = (("a", "string"),)
    few, enough = logs(a=texts(19)), logs(a=texts(20))

    assert choose(counted(A_WEEK, few), HOUR, chosen, ()) == ()
    assert choose(counted(A_WEEK - PERIOD_HOURS, few), HOUR, chosen, ()) == chosen
    assert choose(counted(A_WEEK, enough), HOUR, chosen, ()) == chosen


def test_a_week_without_records_ends_no_column() -> None:
    long_ago = {period_of(HOUR) - A_WEEK: dict(logs())}

    assert choose(long_ago, HOUR, (("a", "string"),), ()) == (("a", "string"),)


def test_what_people_listed_is_left_to_them() -> None:
    sums = counted(A_WEEK, logs(a=texts(900), b=texts(900)))

    assert choose(sums, HOUR, (("a", "long"),), ["a"]) == (("b", "string"),)


COUNTS = st.builds(
    lambda strings, longs, others: AttributeSum(strings + longs + others, strings, longs),
    st.integers(0, 1_000),
    st.sampled_from([0, 0, 1, 500]),
    st.sampled_from([0, 0, 7]),
)
NAMES = [f"k{number}" for number in range(50)]
SUMS = st.dictionaries(
    st.sampled_from([LOGS, TRACES]),
    st.builds(SignalSums, st.integers(0, 1_000), st.dictionaries(st.sampled_from(NAMES), COUNTS)),
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
    after = choose(periods, HOUR, before, listed)

    assert len(after) <= CHOSEN_MAX
    attributes = [attribute for attribute, _ in after]
    assert len(set(attributes)) == len(attributes)
    assert not listed.intersection(attributes)
    for column in set(after) - set(before):
        assert best_share(periods, column, DAY_HOURS) >= CHOSEN_SHARE_MIN
    for column in set(before) - set(after):
        assert column[0] in listed or best_share(periods, column, WEEK_HOURS) < KEPT_SHARE_MIN
    # The same counts give the same columns again.
    assert set(choose(periods, HOUR, after, listed)) == set(after)


def best_share(periods: dict[int, Sums], column: Column, length: int) -> float:
    shares = []
    for signal in (LOGS, TRACES):
        own = [
            sums[signal]
            for period, sums in periods.items()
            if signal in sums and period >= period_of(HOUR) - length
        ]
        records = sum(of.records for of in own)
        counts = [of.attributes[column[0]] for of in own if column[0] in of.attributes]
        exact = sum(count.strings if column[1] == "string" else count.longs for count in counts)
        shares.append(exact / records if records else 0.0)
    return max(shares)


@pytest.mark.parametrize(("number", "kept"), [(ATTRIBUTES_MAX, 0), (ATTRIBUTES_MAX + 1, 1)])
def test_the_rarest_attributes_are_forgotten_beyond_a_limit(number: int, kept: int) -> None:
    sums = SignalSums(1_000, {f"k{rank}": texts(rank) for rank in range(number)})

    sums.cut()

    assert sorted(sums.attributes, key=lambda name: int(name[1:]))[0] == f"k{kept}"
    assert len(sums.attributes) == ATTRIBUTES_MAX
