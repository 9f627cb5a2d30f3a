"""Folders for unfinished output: removed by their owner, or by the next one if it was killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from merge_worker.scratch import progress_writer, remove_abandoned, rows_done, scratch_folder


def test_a_folder_is_removed_whatever_happens(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "x").write_bytes(b"unfinished")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), scratch_folder(tmp_path) as folder:
        fail(folder)

    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path\n"
        "from merge_worker.scratch import scratch_folder\n"
        "with scratch_folder(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'x').write_bytes(b'unfinished'); os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert done.returncode == -9
    assert len(list(tmp_path.iterdir())) == 1

    with scratch_folder(tmp_path) as folder:
        assert list(tmp_path.iterdir()) == [folder]


def test_the_folders_of_others_at_work_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "segplane-merge-just-made").mkdir()
    (tmp_path / "something-else").mkdir()

    with scratch_folder(tmp_path) as folder:
        assert remove_abandoned(tmp_path) == 0

        assert folder.exists()
    assert sorted(os.listdir(tmp_path)) == ["segplane-merge-just-made", "something-else"]


def test_progress_is_seen_from_outside_as_long_as_the_folder_is_there(tmp_path: Path) -> None:
    assert rows_done(tmp_path, "task-1") == 0

    with scratch_folder(tmp_path, "task-1") as folder:
        assert rows_done(tmp_path, "task-1") == 0
        progress_writer(folder)(41)
        assert rows_done(tmp_path, "task-1") == 41
        assert rows_done(tmp_path, "task-2") == 0

    assert rows_done(tmp_path, "task-1") == 0
