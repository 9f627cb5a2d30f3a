"""Sums of what a process spent: shares add up, idle time is apart, the number is bounded."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meta.costs.accumulator import Accumulator, Work
from meta.costs.shares import shares_of
from meta.costs.spent import Spent, measured
from meta.v1 import costs_pb2 as pb

Sums = dict[str, tuple[int, int, int, int]]


def taken(costs: Accumulator, work: Work = Work.INGEST) -> Sums:
    entries = costs.take(work, 1_000)
    assert all(int(entry.kind) == work for entry in entries)
    return {entry.dataset_id: _numbers(entry.amounts) for entry in entries}


def _numbers(amounts: pb.CostAmounts) -> tuple[int, int, int, int]:
    return amounts.bytes, amounts.read_requests, amounts.write_requests, amounts.cpu_micros


@given(st.integers(0, 2**50), st.lists(st.integers(0, 2**50), min_size=1, max_size=20).filter(any))
def test_shares_add_up_and_are_in_proportion(whole: int, weights: list[int]) -> None:
    shares = shares_of(whole, weights)

    assert sum(shares) == whole
    exact = [whole * weight / sum(weights) for weight in weights]
    assert all(
        abs(share - part) <= 1 + part * 1e-9 for share, part in zip(shares, exact, strict=True)
    )


def test_the_process_is_divided_by_the_bytes_of_datasets() -> None:
    costs = Accumulator()
    costs.charge(Work.INGEST, "a", 300)
    costs.charge(Work.INGEST, "b", 50)
    costs.charge(Work.INGEST, "b", 50)

    costs.settle(Work.INGEST, Spent(1_001, 4, 8), 60.0)

    assert taken(costs) == {"a": (300, 3, 6, 750), "b": (100, 1, 2, 251)}
    assert taken(costs) == {}


def test_time_without_work_is_idle() -> None:
    costs = Accumulator()

    costs.settle(Work.QUERY, Spent(700, 0, 2), 60.0)

    assert not costs.has_datasets(Work.QUERY)
    assert taken(costs, Work.QUERY) == {"": (0, 0, 2, 700)}


def test_idle_time_goes_on_at_its_rate_while_there_is_work() -> None:
    costs = Accumulator()
    costs.settle(Work.INGEST, Spent(600), 60.0)
    taken(costs)
    costs.charge(Work.INGEST, "a", 1)

    costs.settle(Work.INGEST, Spent(1_000), 30.0)

    assert taken(costs) == {"": (0, 0, 0, 300), "a": (1, 0, 0, 700)}
    costs.charge(Work.INGEST, "a", 1)
    costs.settle(Work.INGEST, Spent(100), 30.0)
    assert taken(costs) == {"": (0, 0, 0, 100), "a": (1, 0, 0, 0)}


def test_the_start_of_a_process_is_no_rate_of_idle_time() -> None:
    costs = Accumulator()
    costs.settle(Work.INGEST, Spent(5_000_000), 0.0)
    costs.charge(Work.INGEST, "a", 1)

    costs.settle(Work.INGEST, Spent(1_000), 60.0)

    assert taken(costs) == {"": (0, 0, 0, 5_000_000), "a": (1, 0, 0, 1_000)}


def test_a_task_is_divided_by_its_own_bytes() -> None:
    costs = Accumulator()
    costs.charge_task(Work.MERGE, {"a": 1, "b": 3}, Spent(400, 8, 4))
    # It wrote nothing, as one that failed.
    costs.charge_task(Work.MERGE, {"b": 0, "c": 0}, Spent(10, 2, 0))
    costs.charge_task(Work.MERGE, {}, Spent(5, 0, 0))

    costs.settle(Work.MERGE, Spent(), 60.0)

    assert taken(costs, Work.MERGE) == {
        "": (0, 0, 0, 5),
        "a": (1, 2, 1, 100),
        "b": (3, 7, 3, 305),
        "c": (0, 1, 0, 5),
    }


def test_two_kinds_of_work_share_a_process() -> None:
    costs = Accumulator()
    costs.charge(Work.NURSERY, "a", 100)
    costs.charge(Work.MERGE, "a", 300)

    costs.settle(Work.NURSERY, Spent(80), 60.0)

    assert taken(costs, Work.NURSERY) == {"a": (100, 0, 0, 20)}
    assert taken(costs, Work.MERGE) == {"a": (300, 0, 0, 60)}


@pytest.mark.parametrize("rounds", [1, 3])
def test_datasets_beyond_the_bound_count_as_none(rounds: int) -> None:
    costs = Accumulator(datasets_max=3)
    for _ in range(rounds):
        for number in range(10):
            costs.charge(Work.INGEST, str(number), 1)
        costs.settle(Work.INGEST, Spent(), 60.0)

    sums = taken(costs)

    assert len(sums) <= 4
    assert sum(size for size, *_ in sums.values()) == 10 * rounds
    assert sums["0"][0] == rounds


def test_nothing_is_lost_between_threads() -> None:
    costs, stop = Accumulator(), threading.Event()
    total = 0

    def charge(name: str) -> None:
        for _ in range(2_000):
            costs.charge(Work.INGEST, name, 1)

    threads = [threading.Thread(target=charge, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads) or not stop.is_set():
        if not any(thread.is_alive() for thread in threads):
            stop.set()
        costs.settle(Work.INGEST, Spent(7), 1.0)
        total += sum(size for size, *_ in taken(costs).values())

    assert total == 8_000


def test_a_function_is_measured() -> None:
    called = measured(lambda number: sum(range(number)), 300_000)

    assert called.result == 44_999_850_000
    assert called.spent.cpu_micros > 0
    assert (called.spent.read_requests, called.spent.write_requests) == (0, 0)
