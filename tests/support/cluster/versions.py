"""Executors of another release, or of another Python, by what they find on their path."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Run by Python as it starts. There is one Python here; Spark asks a worker's for no more than this.
_OTHER_PYTHON = """
import sys
sys.version_info = type("V", (tuple,), {"major": 3, "minor": 8})((3, 8, 0, "final", 0))
"""


@contextmanager
def pretend_release(packages: Path) -> Iterator[None]:
    """Have segplane 9.9 in a folder of packages."""
    other = packages / "segplane-9.9.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: segplane\nVersion: 9.9\n")
    try:
        yield
    finally:
        shutil.rmtree(other)


@contextmanager
def pretend_python(packages: Path) -> Iterator[None]:
    """Have a Python that finds this folder say that it is 3.8."""
    file = packages / "sitecustomize.py"
    file.write_text(_OTHER_PYTHON)
    try:
        yield
    finally:
        file.unlink()
