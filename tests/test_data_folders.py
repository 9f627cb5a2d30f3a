"""Folders of tests that were killed are removed, and no others."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support import data_folders
from tests.support.data_folders import remove_left_folders


def test_removes_only_the_folders_of_tests_that_have_ended(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    left, beside_postgres, in_use, foreign = (
        tmp_path / f"segplane-test-{ended.pid}-left",
        tmp_path / f"segplane-test-{ended.pid}-postgres",
        tmp_path / f"segplane-test-{os.getpid()}-own",
        tmp_path / "segplane-test-other",
    )
    for folder in (left, beside_postgres, in_use, foreign):
        (folder / "postgres" / "cluster").mkdir(parents=True)
    # A Postgres outlives its killed test by a moment, and writes until then.
    (beside_postgres / "postgres" / "cluster" / "postmaster.pid").write_text(f"{os.getpid()}\n")

    assert remove_left_folders(tmp_path) == [left.name]
    assert not left.exists()
    assert all(folder.exists() for folder in (beside_postgres, in_use, foreign))


def test_a_folder_that_another_process_removes_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    taken, left = (tmp_path / f"segplane-test-{ended.pid}-{name}" for name in ("taken", "left"))
    for folder in (taken, left):
        folder.mkdir()

    def looked_into(folder: Path) -> bool:
        if folder == taken:
            # The other process is faster, in the middle of the walk through the folder.
            taken.rmdir()
            os.scandir(taken)
        return False

    monkeypatch.setattr(data_folders, "_postgres_runs", looked_into)

    assert remove_left_folders(tmp_path) == [left.name]
