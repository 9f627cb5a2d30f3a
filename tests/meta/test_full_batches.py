"""Group commit with one batch at once, and a full one beside it."""

import asyncio

from tests.support.meta.held_batches import HeldBatches, submitter, within_deadline
from tests.support.waiting import let_tasks_run


def test_a_full_batch_begins_beside_another_and_a_smaller_one_waits() -> None:
    batches = HeldBatches()

    async def scenario() -> None:
        submit = submitter(batches.committer(batch_max=3, are_full=True))
        tasks = submit("a1")
        await batches.until_begun(["a1"])
        tasks += submit("b1", "c1")
        await let_tasks_run()
        assert len(batches.begun) == 1
        tasks += submit("d1")
        await batches.until_begun(["a1"], ["b1", "c1", "d1"])
        tasks += submit("e1", "f1", "g1")
        await let_tasks_run()
        assert len(batches.begun) == 2
        batches.end_all()

        assert [await task for task in tasks] == [f"{key}1 done" for key in "abcdefg"]

    within_deadline(scenario())
    assert batches.begun[2] == ["e1", "f1", "g1"]


def test_calls_that_wait_for_a_key_do_not_fill_a_batch() -> None:
    batches = HeldBatches()

    async def scenario() -> None:
        submit = submitter(batches.committer(batch_max=3, are_full=True))
        tasks = submit("a1", "b1")
        await batches.until_begun(["a1", "b1"])
        tasks += submit("a2", "c1", "c2", "d1")
        await let_tasks_run()
        assert len(batches.begun) == 1
        tasks += submit("e1")
        await batches.until_begun(["a1", "b1"], ["c1", "d1", "e1"])
        batches.end_all()
        await asyncio.gather(*tasks)

    within_deadline(scenario())
    assert [request for request in batches.done if request[0] in "ac"] in (
        ["a1", "c1", "a2", "c2"],
        ["c1", "a1", "a2", "c2"],
    )


def test_a_batch_is_bounded_by_the_weight_of_its_calls() -> None:
    batches = HeldBatches()

    async def scenario() -> None:
        submit = submitter(batches.committer(batch_max=3, are_full=True))
        tasks = submit("a1")
        await batches.until_begun(["a1"])
        # The lighter one passes the second that weighs two.
        tasks += submit("B1", "C1", "d1")
        await batches.until_begun(["a1"], ["B1", "d1"])
        batches.end_all()
        await asyncio.gather(*tasks)

    within_deadline(scenario())
    assert batches.begun[2] == ["C1"]


def test_a_call_that_weighs_more_than_a_batch_is_alone_in_one() -> None:
    batches = HeldBatches()
    batches.end_all()

    async def scenario() -> None:
        answers = await batches.committer(batch_max=1).submit_each(["A1", "b1"])
        assert answers == ["A1 done", "b1 done"]

    within_deadline(scenario())
    assert sorted(batches.begun) == [["A1"], ["b1"]]
