"""Releases that are out: their fixtures, and the environments that `make releases` builds."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "releases"
BUILDS = ROOT / "build" / "releases"


@dataclass(frozen=True, slots=True)
class Release:
    """A release by its number, such as 0.3.0."""

    name: str

    @property
    def fixtures(self) -> Path:
        """Folder of what the repository keeps of it."""
        return FIXTURES / self.name

    @property
    def commit(self) -> str:
        """Full hash of its commit."""
        return (self.fixtures / "COMMIT").read_text().strip()

    @property
    def folder(self) -> Path:
        """Folder of its environment and wheels."""
        return BUILDS / self.name

    @property
    def ready(self) -> Path:
        """Stamp of a finished build; holds the commit."""
        return self.folder / ".ready"

    @property
    def python(self) -> Path:
        """Interpreter of its environment."""
        return self.folder / "env" / "bin" / "python"

    @property
    def is_built(self) -> bool:
        """Whether `make releases` has built this commit."""
        return self.ready.is_file() and self.ready.read_text().strip() == self.commit

    @property
    def is_in_clone(self) -> bool:
        """Whether git has its commit; a shallow clone may not."""
        command = ("git", "-C", ROOT, "cat-file", "-e", f"{self.commit}^{{commit}}")
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


# The processes, clients, settings, schema and files of this release work beside those of today.
RELEASE_BEFORE = Release("0.3.0")
needs_release = pytest.mark.skipif(
    not RELEASE_BEFORE.is_built,
    reason=f"release {RELEASE_BEFORE.name} is not built: run `make releases` in a clone that has"
    f" its commit, {RELEASE_BEFORE.commit[:12]}",
)
