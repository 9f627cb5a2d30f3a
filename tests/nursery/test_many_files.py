"""More files than a registration takes: the nursery halves its batch until they fit."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from nursery.execution.execute import Budget, execute
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from nursery.registration import registration
from segments.location import Stores
from segments.store.open import open_stores
from tests.support.nursery.drivers import CollectorDriver, nursery, texts

# Of 100, so that fewer babies are one too many.
FILES_MAX = 12
# Holds no baby beside another one, so each becomes a file.
TINY = Budget(decode_bytes_max=1, held_bytes_max=1)


def run_one_file_a_baby(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
    outcomes: list[TaskOutcome] = []
    for index, task in enumerate(tasks):
        with tempfile.TemporaryDirectory() as folder:
            outcomes.append((index, execute(task, open_stores(where), TINY, Path(folder))))
    return outcomes


def test_a_dataset_of_too_many_files_is_merged_in_smaller_batches(
    collector: CollectorDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "SEGMENTS_EACH_MAX", FILES_MAX)
    sent = [f"{number:03}" for number in range(FILES_MAX + 1)]
    for text in sent:
        collector.send(text)
    driver = nursery(collector.client, run_one_file_a_baby)

    with capture_logs() as logs:
        driver.cycle()
    assert texts(collector) == []
    (failed,) = [line for line in logs if line["event"] == "job_failed"]
    assert f"more than {FILES_MAX}" in failed["error"]
    while driver.cycle():
        pass
    driver.cycle()

    assert texts(collector) == sent
