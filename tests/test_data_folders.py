"""Folders of tests that were killed are removed, and no others."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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


def test_a_folder_that_another_process_removes_is_left_to_it(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    folder = tmp_path / f"segplane-test-{ended.pid}-left"
    for number in range(2_000):
        (folder / str(number) / "cluster").mkdir(parents=True)

    with ThreadPoolExecutor(1) as other:
        removed = other.submit(shutil.rmtree, folder, ignore_errors=True)
        while not removed.done():
            remove_left_folders(tmp_path)

    assert not folder.exists()
