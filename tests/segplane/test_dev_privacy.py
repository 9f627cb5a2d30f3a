"""Files of `segplane dev`, which no other user of the machine may read."""

import os
import subprocess
from pathlib import Path

import pytest

from segplane.stack.config import StackSettings
from segplane.stack.preflight import make_private_dir
from tests.segplane.test_dev import _send_log, _stack

NOBODY = 65_534


@pytest.mark.long
def test_no_other_user_can_read_what_dev_keeps(prepared: StackSettings) -> None:
    prepared.data_dir.mkdir(exist_ok=True)
    # As a folder that release 0.2.0 made, under the umask of most systems.
    (prepared.data_dir / "objects").mkdir(mode=0o755, exist_ok=True)
    (prepared.data_dir / "objects").chmod(0o755)

    with _stack(prepared) as stack:
        _send_log(stack)
        data_dir = stack.settings.data_dir
        objects = [path for path in (data_dir / "objects").rglob("*") if path.is_file()]
        assert objects
        open_to_others = [
            str(path.relative_to(data_dir))
            for folder in ("objects", "logs", "collector")
            for path in (data_dir / folder, *(data_dir / folder).rglob("*"))
            if path.stat().st_mode & 0o007 and path.name != "objects"
        ]
        assert open_to_others == []
        assert (data_dir / "objects").stat().st_mode & 0o777 == 0o750
        if os.geteuid() == 0:
            assert _readable_by_nobody(data_dir / "objects") == []


@pytest.mark.parametrize(("before", "after"), [(None, 0o700), (0o777, 0o770), (0o750, 0o750)])
def test_a_private_folder_is_closed_to_others_and_left_to_its_group(
    tmp_path: Path, before: int | None, after: int
) -> None:
    folder = tmp_path / "folder"
    if before is not None:
        folder.mkdir()
        folder.chmod(before)

    make_private_dir(folder)

    assert folder.stat().st_mode & 0o777 == after


def _readable_by_nobody(folder: Path) -> list[str]:
    """The files that a user without rights can read, asked of the kernel as that user."""
    command = 'for path in "$@"; do head -c1 "$path" >/dev/null 2>&1 && echo "$path"; done; true'
    paths = [str(path) for path in folder.rglob("*") if path.is_file()]
    done = subprocess.run(
        ["/bin/sh", "-c", command, "sh", *paths],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()
