"""deduplication keys are claimed once in a window of days, whatever is merged or dropped."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from meta.commits.transactions import Transactions
from meta.store.deduplication import claiming, run_filters, sorted_runs, windows
from meta.store.deduplication.sorted_runs import MergedRuns
from meta.store.deduplication.windows import DeduplicationWindow
from meta.store.engine.pool import Database, DatabaseSettings
from tests.support.meta.background import rounds_on
from tests.support.meta.deduplication_keys import DAYS, Claims


@pytest.fixture
def transactions(database_url: str) -> Iterator[Transactions]:
    database = Database(DatabaseSettings(url=database_url))
    yield Transactions(database)
    database.close()


@pytest.fixture
def claims(transactions: Transactions) -> Claims:
    return Claims(transactions)


def test_an_identity_is_claimed_once(claims: Claims) -> None:
    assert claims.claim(claims.day(0, 1, 2, 3)) == []

    assert claims.claim(claims.day(0, 4, 3, 5, 1)) == [1, 3]

    assert claims.claim(claims.day(0, 4, 5)) == []


def test_an_identity_is_found_on_another_day_of_the_window(claims: Claims) -> None:
    claims.claim(claims.day(2, 1))

    assert claims.claim(claims.day(1, 9), claims.day(0, 1)) == [1]


def test_datasets_do_not_share_identities(transactions: Transactions, claims: Claims) -> None:
    claims.claim(claims.day(0, 1))

    other = Claims(transactions)
    assert other.claim(other.day(0, 1)) == []


def test_identities_outside_the_window_are_not_kept(claims: Claims) -> None:
    assert claims.claim(claims.day(DAYS, 1), claims.day(-2, 2)) == []

    assert claims.runs() == 0


@pytest.mark.parametrize("number", [1, 224, 225, 256, 5_000])
def test_runs_of_any_size_find_all_their_identities(claims: Claims, number: int) -> None:
    claims.claim(claims.day(0, *range(number)))

    assert claims.claim(claims.day(0, *range(number))) == list(range(number))
    assert claims.claim(claims.day(0, *range(number, 2 * number))) == []


def test_runs_of_more_and_of_fewer_pages_than_hashes_are_looked_up(claims: Claims) -> None:
    """The pages of a large run are read by their keys, those of small ones all."""
    claims.claim(claims.day(1, *range(120_000)))
    claims.claim(claims.day(0, *range(120_000, 121_000)))
    claims.claim(claims.day(2, 121_000))

    given = [119_999, *range(200_000, 200_400), 120_000, 120_999, 121_000, 0]

    assert claims.claim(claims.day(0, *given)) == [0, 401, 402, 403, 404]


def test_full_tiers_are_merged_in_steps_and_lose_nothing(
    claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_runs, "STEP_HASHES", 300)
    for first in range(0, 4_800, 300):
        assert claims.claim(claims.day(0, *range(first, first + 300))) == []
        claims.merge()

    assert claims.runs() < 2 * sorted_runs.FAN_IN
    assert claims.claim(claims.day(0, *range(4_801))) == list(range(4_800))
    assert claims.claim(claims.day(0, 4_800)) == []


def test_a_merge_leaves_no_pages_of_its_runs(claims: Claims) -> None:
    for name in range(sorted_runs.FAN_IN):
        claims.claim(claims.day(1, name))
    pages = claims.young_pages()

    assert claims.merge() == 1

    assert claims.runs() == 1
    assert claims.young_pages() == pages - sorted_runs.FAN_IN + 1


def test_a_day_that_is_over_becomes_one_run_in_its_own_table(
    transactions: Transactions, claims: Claims
) -> None:
    claims.claim(claims.day(1, *range(200)))
    claims.claim(claims.day(1, *range(200, 300)))
    claims.claim(claims.day(0, 300))

    assert transactions.write(sorted_runs.merge_over) == MergedRuns(2, 300)

    assert claims.runs() == 2
    assert claims.pages_of_day(1) == 2
    assert claims.claim(claims.day(0, *range(302))) == list(range(301))


def test_late_events_do_not_have_their_day_merged_again(
    transactions: Transactions, claims: Claims
) -> None:
    claims.claim(claims.day(1, *range(200)))
    assert transactions.write(sorted_runs.merge_over) == MergedRuns(1, 200)
    claims.claim(claims.day(1, *range(200, 500)))

    assert transactions.write(sorted_runs.merge_over) is None

    assert claims.claim(claims.day(0, *range(501))) == list(range(500))


def test_a_day_that_no_dataset_retains_is_dropped_as_a_whole(transactions: Transactions) -> None:
    claims = Claims(transactions, days=30)
    claims.claim(claims.day(20, 1), claims.day(0, 2))
    beside = Claims(transactions, days=30)
    beside.claim(beside.day(20, 1))
    while transactions.write(sorted_runs.merge_over) is not None:
        pass
    claims.claim(claims.day(20, 3))

    claims.keep(7)
    transactions.write(sorted_runs.expire)
    assert (claims.runs(), claims.pages_of_day(20)) == (1, 1)
    assert claims.claim(claims.day(0, 2)) == [0]
    assert claims.claim(claims.day(0, 1, 3)) == []

    beside.keep(7)
    transactions.write(sorted_runs.expire)
    assert claims.pages_of_day(20) == 0


def test_a_server_merges_and_expires_in_the_background(
    transactions: Transactions, claims: Claims
) -> None:
    claims.claim(claims.day(2, 1_000))
    for name in range(sorted_runs.FAN_IN):
        claims.claim(claims.day(0, name))
    claims.keep(1)

    rounds_on(transactions.database).merge_deduplication_keys()

    assert claims.runs() == 1


@pytest.mark.parametrize("many", [claiming.MANY, 1])
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.one_of(
            st.lists(st.tuples(st.integers(0, DAYS), st.integers(0, 400)), min_size=1, max_size=12),
            st.sampled_from(["merge", "merge days that are over", "expire", "make filters"]),
        ),
        min_size=8,
        max_size=30,
    )
)
def test_claims_are_those_of_a_dict(
    transactions: Transactions,
    monkeypatch: pytest.MonkeyPatch,
    many: int,
    steps: list[list[tuple[int, int]] | str],
) -> None:
    """Whatever is merged and expired in between, a key is claimed once while it is kept."""
    monkeypatch.setattr(claiming, "MANY", many)
    monkeypatch.setattr(sorted_runs, "PAGE_HASHES", 4)
    monkeypatch.setattr(sorted_runs, "FILTERED_MIN", 3)
    claims, model = Claims(transactions), dict[int, int]()

    for step in steps:
        if step == "merge":
            claims.merge()
        elif step == "merge days that are over":
            transactions.write(sorted_runs.merge_over)
        elif step == "expire":
            transactions.write(sorted_runs.expire)
        elif step == "make filters":
            run_filters.FILTERS.refresh(transactions.database, 1_000_000)
        elif isinstance(step, list):
            days = {name: ago for ago, name in step}
            given_days = [
                claims.day(ago, *(name for name, own in days.items() if own == ago))
                for ago in range(DAYS + 1)
            ]
            names = [name for ago in range(DAYS + 1) for name, own in days.items() if own == ago]
            expected = [place for place, name in enumerate(names) if name in model]
            assert claims.claim(*given_days) == expected
            if not expected:
                model |= {name: ago for name, ago in days.items() if ago < DAYS}


def test_a_registration_during_a_merge_finds_what_the_merge_holds(
    transactions: Transactions, claims: Claims
) -> None:
    """Runs and their pages are read in one snapshot, before or after the merge."""
    for name in range(sorted_runs.FAN_IN):
        claims.claim(claims.day(0, name))

    with transactions.database.write() as merge:
        assert sorted_runs.merge_due(merge) is not None
        assert claims.claim(claims.day(0, *range(9))) == list(range(8))
        assert claims.claim(claims.day(0, 11)) == []

    assert claims.claim(claims.day(0, *range(12))) == [*range(8), 11]


def test_a_run_that_is_too_large_is_not_merged(
    claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_runs, "RUN_MAX", sorted_runs.FAN_IN - 1)
    for name in range(sorted_runs.FAN_IN):
        claims.claim(claims.day(0, name))

    claims.merge()

    assert claims.runs() == sorted_runs.FAN_IN
    assert claims.claim(claims.day(0, *range(9))) == list(range(8))


def test_two_registrations_of_a_dataset_claim_one_after_the_other(
    transactions: Transactions, claims: Claims
) -> None:
    """The second one waits for the lock and then sees what the first one claimed."""
    with transactions.database.write() as first:
        window = windows.lock_window(first, claims.key)
        assert isinstance(window, DeduplicationWindow)
        claiming.claim(first, window, [claims.day(0, 1)])

        with transactions.database.write() as second:
            second.execute(text("SET LOCAL lock_timeout = '50ms'"))
            with pytest.raises(Exception, match="lock timeout"):
                windows.lock_window(second, claims.key)

    assert claims.claim(claims.day(0, 1)) == [0]
