"""Both wheels, built from a copy of the tree."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "meta",
    "segments",
    "kql",
    "dataplane",
    "collector",
    "nursery",
    "merge_worker",
    "janitor",
    "segplane",
    "pyspark_segplane",
)
_FOLDERS = {"segplane": ".", "segplane_server": "distributions/server"}


@dataclass(frozen=True, slots=True)
class Wheels:
    """Paths of the two wheels."""

    segplane: Path
    segplane_server: Path


def copy_tree(tree: Path, mtime: int = 1_600_000_000) -> None:
    """Copy what wheels are built of, with one time for all files."""
    for name in (*PACKAGES, "distributions"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    for path in tree.rglob("*"):
        os.utime(path, (mtime, mtime))


def build_wheels(folder: Path, mtime: int = 1_600_000_000) -> Wheels:
    """Build both in a copy of the tree."""
    tree, dist = folder / "tree", folder / "dist"
    copy_tree(tree, mtime)
    for project in _FOLDERS.values():
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(dist)],
            cwd=tree / project,
            check=True,
            capture_output=True,
            umask=0o022,
        )
    found = {path.name.partition("-")[0]: path for path in dist.glob("*.whl")}
    return Wheels(**found)


def names_in(wheel: Path) -> set[str]:
    """Names of a wheel's files, its metadata omitted."""
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def unpack(wheel: Path, folder: Path) -> None:
    """Lay a wheel's files where an installation would."""
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
