"""segplane fsck --metrics: what a check found, in a file for Prometheus."""

import time
from pathlib import Path

import pytest

from meta.client import MetaClient
from tests.support.command_line import RunCommand
from tests.support.merge_worker.case import Case


@pytest.fixture
def case(meta_client: MetaClient, tmp_path: Path) -> Case:
    return Case(meta_client, tmp_path)


def test_what_a_check_found_is_in_a_file_of_metrics(
    run: RunCommand, case: Case, tmp_path: Path
) -> None:
    path = tmp_path / "fsck.prom"
    case.save(1)
    name = 'segplane_fsck_problems{check="catalog",kind="violation"}'

    def shown() -> dict[str, str]:
        run("fsck", "--metrics", str(path))
        lines = path.read_text().splitlines()
        return dict(line.split(" ") for line in lines if not line.startswith("#"))

    before = shown()
    case.store.delete([info.key for info in case.store.list("dataset/")])
    after = shown()

    assert (before[name], after[name]) == ("0.0", "1.0")
    ended = 'segplane_fsck_finished_timestamp_seconds{check="catalog"}'
    assert float(after[ended]) >= float(before[ended]) > time.time() - 600
    run("fsck", "--data", "--metrics", str(path))
    assert 'segplane_fsck_problems{check="data",kind="damaged"}' in path.read_text()
