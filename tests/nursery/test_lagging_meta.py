"""A nursery does not go back to what a meta says that lags behind the one polled before."""

from collections.abc import Sequence
from typing import Any

import pytest

from dataplane.stream_poll import read_unmerged
from meta.v1 import nursery_pb2
from nursery import loop
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from segments.location import Stores
from tests.support.nursery.drivers import CollectorDriver, nursery, run_here, texts


def test_a_reply_of_a_meta_that_lags_behind_is_not_used(
    collector: CollectorDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector.send("a")
    replies = []

    def read(*arguments: Any) -> nursery_pb2.GetIngestStreamsResponse:
        replies.append(read_unmerged(*arguments))
        return replies[0]

    written = []

    def run(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        written.append(tasks)
        return run_here(tasks, where)

    monkeypatch.setattr(loop, "read_unmerged", read)
    driver = nursery(collector.client, run)
    driver.cycle()
    # From here on the reply of before the registration comes again.
    driver.cycle()
    collector.send("b")
    driver.cycle()

    assert len(replies) == 3
    assert replies[0].response_seq < replies[1].response_seq
    # No file is written a second time, to be refused and left to the janitor.
    assert len(written) == 1
    monkeypatch.undo()
    driver.cycle()
    assert texts(collector) == ["a", "b"]
