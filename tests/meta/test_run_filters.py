"""Filters of large runs of keys only spare look-ups: no claim is decided otherwise."""

import hashlib
import os
from collections.abc import Iterator
from itertools import count

import numpy as np
import pytest
from sqlalchemy import text

from meta.commits.transactions import Transactions
from meta.store.deduplication import claiming, keyed_hashes, run_filters, sorted_runs, windows
from meta.store.deduplication.keyed_hashes import KeptHashes, RunFilter, masks_of
from meta.store.deduplication.run_filters import RunFilters
from meta.store.engine.pool import Database, DatabaseSettings
from meta.watches import rounds
from tests.support.meta.background import rounds_on
from tests.support.meta.deduplication_keys import Claims, hash_of

RUN_MIN = 500


@pytest.fixture(autouse=True)
def filters(monkeypatch: pytest.MonkeyPatch) -> RunFilters:
    """The filters of a server that has just started."""
    monkeypatch.setattr(sorted_runs, "FILTERED_MIN", RUN_MIN)
    return start_server(monkeypatch)


def start_server(monkeypatch: pytest.MonkeyPatch) -> RunFilters:
    """Go on as another server, which has no filters yet."""
    filters = RunFilters()
    monkeypatch.setattr(run_filters, "FILTERS", filters)
    return filters


def refresh(database: Database, bytes_max: int = 1_000_000) -> int:
    """Make missing filters, and drop others; returns how many were made."""
    return run_filters.FILTERS.refresh(database, bytes_max)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(DatabaseSettings(url=database_url))
    yield database
    database.close()


@pytest.fixture
def claims(database: Database) -> Claims:
    return Claims(Transactions(database))


@pytest.mark.parametrize("number", [1, 5, 20_000])
def test_a_filter_passes_all_of_its_hashes_and_few_others(number: int) -> None:
    run_filter = RunFilter(1, number)
    hashes = np.frombuffer(os.urandom(8 * number), np.uint64)
    for part in np.array_split(hashes, 3):
        run_filter.add(part)

    assert run_filter.positions(hashes, masks_of(hashes)).tolist() == list(range(number))
    others = np.frombuffer(os.urandom(8 * 20_000), np.uint64)
    assert len(run_filter.positions(others, masks_of(others))) < 600


@pytest.mark.parametrize("starts_again", [False, True])
def test_claims_are_decided_with_filters_as_without(
    database: Database, claims: Claims, monkeypatch: pytest.MonkeyPatch, starts_again: bool
) -> None:
    monkeypatch.setattr(run_filters, "PAGES_AT_ONCE", 3)
    claims.claim(claims.day(1, *range(3_000)))
    claims.claim(claims.day(0, *range(3_000, 6_000)))
    claims.claim(claims.day(0, 6_000))
    if starts_again:
        start_server(monkeypatch)
        assert refresh(database) == 2
        assert refresh(database) == 0

    asked = [9_000, 2_999, 3_000, 5_999, 6_000, *range(10_000, 10_500), 0]
    assert claims.claim(claims.day(0, *asked)) == [1, 2, 3, 4, 505]
    assert claims.claim(claims.day(0, *range(6_001))) == list(range(6_001))
    assert claims.claim(claims.day(0, *range(7_000, 9_500))) == []


def test_a_filter_passes_the_hashes_of_its_dataset(claims: Claims, filters: RunFilters) -> None:
    claims.claim(claims.day(0, *range(3_000)))

    filtered = filters.apply(claims.key, _kept(*range(1_000, 21_000)))

    assert len(filtered.uids) == 1
    assert 2_000 <= len(filtered.positions) < 2_250
    assert filtered.ends == [len(filtered.positions)]
    assert filters.apply(claims.key + 1, _kept(1)).uids == ()


def test_a_run_with_a_filter_is_merged_before_the_filter_is_dropped(
    database: Database, claims: Claims, filters: RunFilters
) -> None:
    """A registration reads the merged run, whatever the filters of the former runs say."""
    for first in range(0, 600 * sorted_runs.FAN_IN, 600):
        claims.claim(claims.day(0, *range(first, first + 600)))
    assert len(filters.apply(claims.key, _kept(0)).uids) == sorted_runs.FAN_IN
    assert claims.merge() == 1

    assert claims.claim(claims.day(0, 5_000, 0, 4_799)) == [1, 2]

    assert refresh(database) == 1
    assert refresh(database) == 0
    assert len(filters.apply(claims.key, _kept(0)).uids) == 1
    assert claims.claim(claims.day(0, 5_000, 0, 4_799)) == [1, 2]


def test_another_run_with_the_id_of_a_filtered_one_is_read(
    database: Database, claims: Claims, monkeypatch: pytest.MonkeyPatch, filters: RunFilters
) -> None:
    """Ids are given again after a restore, which a server may survive."""
    claims.claim(claims.day(0, *range(600)))
    with database.write() as tx:
        (run,) = tx.execute(text("DELETE FROM deduplication_runs RETURNING id")).scalars()
        tx.execute(text(f"DELETE FROM {sorted_runs.YOUNG}"))  # noqa: S608
        reset = "SELECT setval(pg_get_serial_sequence('deduplication_runs', 'id'), :run, false)"
        tx.execute(text(reset), {"run": run})

    # The rows come by another server.
    start_server(monkeypatch)
    assert claims.claim(claims.day(0, *range(600, 1_200))) == []
    with database.read() as tx:
        assert tx.execute(text("SELECT id FROM deduplication_runs")).scalar_one() == run

    monkeypatch.setattr(run_filters, "FILTERS", filters)
    assert claims.claim(claims.day(0, *range(1_201))) == list(range(600, 1_200))


def test_a_run_of_which_pages_are_gone_gets_no_filter(
    database: Database, claims: Claims, filters: RunFilters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it was merged while it was read."""
    claims.claim(claims.day(0, *range(600)))
    start_server(monkeypatch)
    monkeypatch.setattr(run_filters, "PAGES_AT_ONCE", 1)
    with database.write() as tx:
        tx.execute(text(f"DELETE FROM {sorted_runs.YOUNG} WHERE bucket = 1"))  # noqa: S608

    assert refresh(database) == 0


def test_a_claim_that_is_not_committed_leaves_no_filter(
    database: Database, claims: Claims, filters: RunFilters
) -> None:
    with database.write() as tx:
        window = windows.lock_window(tx, claims.key)
        assert window is not None
        claiming.claim(tx, window, [claims.day(0, *range(600))])
        refresh(database)
        assert filters.size_bytes, "its run may be committed yet"
        tx.rollback()

    assert claims.claim(claims.day(0, *range(600))) == []
    refresh(database)
    assert len(filters.apply(claims.key, _kept(0)).uids) == 1


def test_filters_take_no_more_than_their_memory(
    database: Database, claims: Claims, filters: RunFilters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs that have no room are read."""
    for number, ago in ((700, 2), (600, 1), (500, 0)):
        claims.claim(claims.day(ago, *range(1_000 * ago, 1_000 * ago + number)))
    sizes = [RunFilter(1, number).size_bytes for number in (500, 600, 700)]
    assert filters.size_bytes == sum(sizes)

    filters = start_server(monkeypatch)
    assert refresh(database, sum(sizes) - 1) == 2
    assert filters.size_bytes == sum(sizes[:2])
    assert claims.claim(claims.day(0, 2_699, 1_599, 499, 500)) == [0, 1, 2]
    assert claims.claim(claims.day(1, *range(3_000, 3_700))) == []
    assert filters.size_bytes == sum(sizes[:2])

    assert refresh(database, sum(sizes) + sizes[2]) == 2
    assert filters.size_bytes == sum(sizes) + sizes[2]


def test_small_runs_that_are_new_take_the_room_of_a_large_one(
    database: Database, claims: Claims, filters: RunFilters
) -> None:
    claims.claim(claims.day(0, *range(2_000)))
    bytes_max = RunFilter(1, 2_000).size_bytes
    refresh(database, bytes_max)
    for first in (2_000, 3_000):
        claims.claim(claims.day(0, *range(first, first + 600)))

    assert refresh(database, bytes_max) == 2

    assert filters.size_bytes == 2 * RunFilter(1, 600).size_bytes
    assert claims.claim(claims.day(0, 1_999, 2_599, 3_599, 4_000)) == [0, 1, 2]


def test_a_server_makes_filters_in_the_background_and_drops_those_of_expired_runs(
    database: Database, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes of a server share the room."""
    claims.claim(claims.day(0, *range(RUN_MIN - 1)))
    claims.claim(claims.day(1, *range(RUN_MIN, 2 * RUN_MIN)))
    filters = start_server(monkeypatch)
    monkeypatch.setattr(rounds, "FILTER_BYTES_MAX", 3 * RunFilter(1, RUN_MIN).size_bytes)

    assert not rounds_on(database, processes=4).make_filters()
    watch = rounds_on(database, processes=3)
    assert watch.make_filters()
    assert len(filters.apply(claims.key, _kept(RUN_MIN)).uids) == 1
    assert not watch.make_filters()

    claims.keep(1)
    with database.write() as tx:
        sorted_runs.expire(tx)
    assert not watch.make_filters()
    assert filters.size_bytes == 0


def test_a_server_that_stops_reads_no_more_runs(
    database: Database, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims.claim(claims.day(0, *range(5_000)))
    filters = start_server(monkeypatch)
    monkeypatch.setattr(run_filters, "PAGES_AT_ONCE", 1)
    looks = count()

    made = filters.refresh(database, 1_000_000, lambda: next(looks) == 4)

    assert (made, filters.size_bytes, next(looks)) == (0, 0, 5)


@pytest.mark.parametrize("secret", [b"", b"k", bytes(range(32)), bytes(range(16))])
def test_kept_hashes_differ_as_their_secrets_and_keep_their_order(secret: bytes) -> None:
    """Datasets of before have secrets of 32 bytes, and the hashes that BLAKE2b makes with them."""
    given = b"".join(map(hash_of, range(1_000)))

    kept = keyed_hashes.keyed(secret, given)

    packed = keyed_hashes.packed(kept)
    each = [packed[at : at + 16] for at in range(0, len(packed), 16)]
    assert len(set(each)) == 1_000
    assert not set(each) & {given[at : at + 16] for at in range(0, len(given), 16)}
    assert sorted(each) == [each[place] for place in keyed_hashes.order(kept)]
    if len(secret) != 16:
        own = hashlib.blake2b(given[-16:], key=secret, digest_size=16).digest()
        assert each[-1] == own
    other = keyed_hashes.keyed(bytes(reversed(secret)) + b"o" * (len(secret) < 2), given)
    assert not set(each) & {row.tobytes() for row in other.astype(">u8")}


def test_hashes_with_one_first_half_are_in_order() -> None:
    halves = np.array([[7, 2], [7, 1], [3, 9], [7, 0]], np.uint64)

    assert keyed_hashes.order(halves).tolist() == [2, 3, 1, 0]
    assert keyed_hashes.order(halves[:1]).tolist() == [0]


def _kept(*names: int) -> KeptHashes:
    """Sorted hashes as a window without a secret keeps them."""
    kept = keyed_hashes.keyed(b"", b"".join(map(hash_of, names)))
    return kept[keyed_hashes.order(kept)]
