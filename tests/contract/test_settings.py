"""docs/settings.md lists every setting that a process reads, with its default."""

import importlib
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from meta.process import Environment

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"
ROW = re.compile(r"^\| `([A-Z_]+)` \| (.*?) \| .+ \|$", re.MULTILINE)
# What a process must be given, or its start-up is refused.
REQUIRED = {"META_DATABASE_URL": "postgresql://host/name"}
# Defaults that depend on where the process runs; the table says so in words.
COMPUTED = {"META_OBJECT_STORE_URL", "MERGE_WORKER_WORKER_ID", "MERGE_WORKER_WORK_DIR"}
# Set by a parent process for its children, never by an operator.
INTERNAL = {"COLLECTOR_PROCESS_INDEX", "META_PROCESS_INDEX"}


@dataclass(frozen=True, slots=True)
class Recorder(Environment):
    """An environment that notes what is asked of it."""

    asked: dict[str, str] = field(default_factory=dict)

    def text(self, name: str, default: str | None = None) -> str:
        """Read as usual, and note the default."""
        self.asked[self.prefix + name] = "" if default is None else default
        return Environment.text(self, name, default)


def _settings() -> Iterator[tuple[str, str]]:
    for package in ("meta", "collector", "segplane.gateway", "nursery", "merge_worker", "janitor"):
        recorder = Recorder(f"{package.rpartition('.')[2].upper()}_", REQUIRED)
        importlib.import_module(f"{package}.config").load(recorder)
        yield from recorder.asked.items()


@pytest.fixture(scope="module")
def documented() -> dict[str, str]:
    """The rows of the table: name to default."""
    return {name: default.strip("`") for name, default in ROW.findall(DOCS.read_text())}


def test_every_setting_is_documented_and_nothing_else(documented: dict[str, str]) -> None:
    assert set(documented) == {name for name, _ in _settings()} - INTERNAL


def test_the_documented_defaults_are_the_real_ones(documented: dict[str, str]) -> None:
    real = {n: d for n, d in _settings() if n not in COMPUTED | INTERNAL}

    assert {name: documented[name] for name in real} == {
        name: _shown(default) for name, default in real.items()
    }


def _shown(default: str) -> str:
    assert socket.gethostname() not in default
    return default or "-"
