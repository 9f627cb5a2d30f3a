"""Deficit round robin: tokens share bytes, not items."""

import asyncio

from collector.fair_queue import QUANTUM_BYTES, FairQueue, Sender
from collector.intake.token_limits import Activities
from tests.support.collector.seat import run


def drained(queue: FairQueue[str]) -> list[str]:
    items = []
    while queue:
        items.append(queue.pop())
    return items


def test_items_of_one_token_keep_their_order() -> None:
    queue = FairQueue[str]()
    for item in "abc":
        queue.push(Sender("token"), item, 10 * QUANTUM_BYTES)

    assert drained(queue) == ["a", "b", "c"]


def test_a_small_sender_passes_a_backlog_of_large_items() -> None:
    queue = FairQueue[str]()
    for index in range(20):
        queue.push(Sender("busy"), f"large {index}", 4 * QUANTUM_BYTES)
    for index in range(8):
        queue.push(Sender("small"), f"small {index}", 1_000)

    order = drained(queue)

    assert order.index("small 7") <= 9
    assert [item for item in order if item.startswith("large")] == [
        f"large {index}" for index in range(20)
    ]


def test_tokens_share_the_bytes_equally() -> None:
    queue = FairQueue[str]()
    for index in range(100):
        queue.push(Sender("large"), f"large {index}", QUANTUM_BYTES)
        for part in range(4):
            queue.push(Sender("quarter"), f"quarter {index} {part}", QUANTUM_BYTES // 4)

    order = [queue.pop() for _ in range(100)]

    large = sum(item.startswith("large") for item in order)
    assert abs(large - (100 - large) / 4) <= 2


def test_a_sender_with_a_backlog_takes_turns_with_another_on_the_event_loop() -> None:
    activities, order = Activities(), list[str]()
    for token_id in ("busy", "small"):
        activities.begin(activities.of(token_id))

    async def take(token_id: str) -> None:
        await activities.turn(Sender(token_id), 4 * QUANTUM_BYTES)
        order.append(token_id)

    async def scenario() -> None:
        await asyncio.gather(*(take("busy") for _ in range(9)), take("small"))

    run(scenario())

    assert order.index("small") <= 2
