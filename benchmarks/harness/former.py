"""The tree of an earlier commit, which the processes of this environment run with PYTHONPATH."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def former_tree(commit: str) -> Path | None:
    """Return a folder with the files of a commit; None if the history here does not have it."""
    folder = ROOT / "build" / "commits" / commit
    if not folder.exists():
        archive = folder.with_suffix(".tar")
        archive.parent.mkdir(parents=True, exist_ok=True)
        command = ["git", "-C", str(ROOT), "archive", f"--output={archive}", commit]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            return None
        partial = folder.with_suffix(".partial")
        partial.mkdir(exist_ok=True)
        subprocess.run(["tar", "-xf", str(archive), "-C", str(partial)], check=True)
        partial.rename(folder)
        archive.unlink()
    return folder
