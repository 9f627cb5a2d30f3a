"""The supply chain: a wheel of the same bytes twice, and a bill of materials of the lock file."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("meta", "segments", "collector", "nursery", "merge_worker", "janitor", "segplane")


def build_wheel(folder: Path, mtime: int) -> bytes:
    """Build a wheel in a copy of the tree whose files have one time."""
    tree = folder / "tree"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    for path in tree.rglob("*"):
        os.utime(path, (mtime, mtime))
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")],
        cwd=tree,
        check=True,
        capture_output=True,
        umask=0o022,
    )
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel.read_bytes()


def test_a_wheel_is_built_to_the_same_bytes_twice(tmp_path: Path) -> None:
    first = build_wheel(tmp_path / "a", 1_600_000_000)
    second = build_wheel(tmp_path / "other place", 1_700_000_001)

    assert len(first) > 100_000
    assert first == second


def test_the_bill_of_materials_names_every_locked_package(tmp_path: Path) -> None:
    script = ROOT / "requirements" / "bill_of_materials.py"
    for folder in ("a", "b"):
        done = subprocess.run(
            [sys.executable, str(script), str(tmp_path / folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    bill = (tmp_path / "a/segplane.cdx.json").read_bytes()
    assert bill == (tmp_path / "b/segplane.cdx.json").read_bytes()
    parsed = json.loads(bill)
    assert (parsed["bomFormat"], parsed["specVersion"]) == ("CycloneDX", "1.6")
    names = {component["name"] for component in parsed["components"]}
    assert {"grpcio", "protobuf", "pyarrow", "sqlalchemy"} <= names
    assert len(names) > 50
    licences = (tmp_path / "a/licences.txt").read_text().splitlines()
    assert len(licences) == len(names)
