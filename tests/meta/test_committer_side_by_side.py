"""Group commit with two batches at once: who is in which, and what one does not do to the other."""

import asyncio
import threading
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from meta.commits.group_commit import Committer
from meta.errors import NotFound, Unavailable
from meta.event_loop import EventLoop
from tests.support.examples import examples
from tests.support.meta.held_batches import DEADLINE_SECS, HeldBatches, submitter, within_deadline
from tests.support.waiting import let_tasks_run


def test_a_second_batch_begins_while_the_first_is_in_the_database() -> None:
    batches = HeldBatches()

    async def scenario() -> None:
        submit = submitter(batches.committer())
        (first,) = submit("a1")
        await batches.until_begun(["a1"])
        (second,) = submit("b1")
        await batches.until_begun(["a1"], ["b1"])
        batches.end("b1")

        assert await second == "b1 done"
        assert not first.done()
        batches.end("a1")
        assert await first == "a1 done"

    within_deadline(scenario())


def test_batches_side_by_side_share_the_callers_evenly() -> None:
    batches = HeldBatches()

    async def scenario() -> None:
        submit = submitter(batches.committer(gather_secs=10 * DEADLINE_SECS))
        firsts = submit("a1", "b1", "c1", "d1")
        batches.end("a1")
        await asyncio.gather(*firsts)
        # Half of the four that were answered; the third waits for the fourth.
        more = submit("a2", "b2")
        await batches.until_begun(["a1", "b1", "c1", "d1"], ["a2", "b2"])
        more += submit("c2")
        await let_tasks_run()
        more += submit("d2")
        await batches.until_begun(["a1", "b1", "c1", "d1"], ["a2", "b2"], ["c2", "d2"])
        batches.end_all()
        await asyncio.gather(*more)

    within_deadline(scenario())


def test_a_call_waits_for_the_batch_that_has_its_key_and_others_pass_it() -> None:
    batches = HeldBatches()

    async def scenario() -> None:
        submit = submitter(batches.committer())
        tasks = submit("a1", "b1")
        await batches.until_begun(["a1", "b1"])
        # There is a place for a batch, but not for these two.
        tasks += submit("a2", "a3")
        await let_tasks_run()
        tasks += submit("c1", "d1")
        await batches.until_begun(["a1", "b1"], ["c1", "d1"])
        batches.end_all()

        assert [await task for task in tasks][2:4] == ["a2 done", "a3 done"]

    within_deadline(scenario())
    assert [request for request in batches.done if request[0] == "a"] == ["a1", "a2", "a3"]


def test_callers_of_the_same_keys_go_on_batch_after_batch() -> None:
    batches = HeldBatches()
    batches.end_all()

    async def call(committer: Committer[str, str, None], key: str) -> None:
        for number in range(20):
            await committer.submit(f"{key}{number}")

    async def scenario() -> None:
        committer = batches.committer(gather_secs=0.001)
        await asyncio.gather(*(call(committer, key) for key in "aaabbc"))

    within_deadline(scenario())
    assert len(batches.done) == 120


def test_a_failed_batch_and_its_halves_leave_the_other_alone() -> None:
    def fail_with_the_bad_one(batch: Sequence[str]) -> Exception | None:
        return NotFound("there is no such dataset") if "x1" in batch else None

    batches = HeldBatches(fail_with_the_bad_one)

    async def scenario() -> None:
        submit = submitter(batches.committer())
        bad = submit("x1", "y1")
        await batches.until_begun(["x1", "y1"])
        good = submit("a1", "b1")
        await batches.until_begun(["x1", "y1"], ["a1", "b1"])
        later = submit("y2")
        batches.end("x1")
        # A half runs again, and the call behind it still waits.
        await batches.until_begun(["x1", "y1"], ["a1", "b1"], ["x1"], ["y1"])
        batches.end("y1")

        assert [await task for task in bad] == ["x1 alone", "y1 done"]
        assert not any(task.done() for task in good)
        await batches.until_begun(["x1", "y1"], ["a1", "b1"], ["x1"], ["y1"], ["y2"])
        batches.end("a1", "y2")
        assert [await task for task in good + later] == ["a1 done", "b1 done", "y2 done"]

    within_deadline(scenario())


def test_an_outage_fails_both_batches_and_everyone_runs_alone() -> None:
    batches = HeldBatches(lambda _: Unavailable("the database went away"))

    async def scenario() -> None:
        submit = submitter(batches.committer())
        tasks = submit("a1", "b1")
        await batches.until_begun(["a1", "b1"])
        tasks += submit("c1", "d1")
        await batches.until_begun(["a1", "b1"], ["c1", "d1"])
        batches.end_all()

        assert [await task for task in tasks] == [f"{key}1 alone" for key in "abcd"]

    within_deadline(scenario())


def test_a_cancelled_call_frees_its_key_only_when_its_batch_ends() -> None:
    batches = HeldBatches()

    async def scenario() -> None:
        submit = submitter(batches.committer())
        first, beside = submit("a1", "b1")
        await batches.until_begun(["a1", "b1"])
        first.cancel()
        (again,) = submit("a1")
        (other,) = submit("c1")
        await batches.until_begun(["a1", "b1"], ["c1"])
        batches.end("b1")
        assert await beside == "b1 done"
        await batches.until_begun(["a1", "b1"], ["c1"], ["a1"])
        batches.end_all()

        assert [await again, await other] == ["a1 done", "c1 done"]

    within_deadline(scenario())


def test_calls_that_come_together_are_one_batch_also_if_the_queue_is_idle() -> None:
    batches = HeldBatches()
    batches.end_all()

    async def scenario() -> None:
        answers = await batches.committer().submit_each([f"{key}1" for key in "abcdefgh"])
        assert answers == [f"{key}1 done" for key in "abcdefgh"]

    within_deadline(scenario())
    assert len(batches.begun) == 1


def test_a_loop_that_closes_waits_for_both_batches() -> None:
    batches = HeldBatches()
    loop = EventLoop(threads=2)
    answers: list[str] = []

    async def call(committer: Committer[str, str, None], request: str) -> None:
        answers.append(await committer.submit(request))

    async def begin() -> None:
        committer = batches.committer()
        tasks = [asyncio.create_task(call(committer, "a1"))]
        await batches.until_begun(["a1"])
        tasks.append(asyncio.create_task(call(committer, "b1")))
        await batches.until_begun(["a1"], ["b1"])
        # It begins while the loop closes.
        tasks.append(asyncio.create_task(call(committer, "a2")))
        await let_tasks_run()

    loop.run(begin())
    closing = threading.Thread(target=loop.close)
    closing.start()
    batches.end_all()
    closing.join(DEADLINE_SECS)

    assert not closing.is_alive()
    assert sorted(answers) == ["a1 done", "a2 done", "b1 done"]


@settings(max_examples=examples(60), deadline=None)
@given(
    keys=st.lists(st.sampled_from("abCD"), min_size=1, max_size=24),
    left=st.sets(st.integers(0, 23)),
    bad=st.sets(st.sampled_from("abCD"), max_size=1),
    batch_max=st.integers(1, 4),
    are_full=st.booleans(),
)
def test_everyone_is_answered_in_the_order_of_its_key(
    keys: list[str], left: set[int], bad: set[str], batch_max: int, are_full: bool
) -> None:
    """`left` are calls whose callers leave while they wait or run; `bad` keys fail a batch."""

    def fail(batch: Sequence[str]) -> Exception | None:
        return NotFound("no such dataset") if bad & {request[0] for request in batch} else None

    batches = HeldBatches(fail)
    batches.end_all()
    requests = [f"{key}{number}" for number, key in enumerate(keys)]

    async def scenario() -> None:
        committer = batches.committer(0.0001, batch_max, are_full=are_full)
        tasks = []
        for number, request in enumerate(requests):
            tasks.append(asyncio.create_task(committer.submit(request)))
            if number % 3 == 0:
                await let_tasks_run()
        for number, task in enumerate(tasks):
            if number in left:
                task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        for request, task, answer in zip(requests, tasks, answers, strict=True):
            expected = f"{request} alone" if request[0] in bad else f"{request} done"
            assert task.cancelled() or answer == expected
        while committer._tasks:
            await asyncio.wait(committer._tasks)

    within_deadline(scenario())
    for key in set(keys):
        numbers = [int(request[1:]) for request in batches.done if request[0] == key]
        assert numbers == sorted(set(numbers))
