"""Programs that `make prometheus` unpacks; a test without them is skipped."""

from pathlib import Path

import pytest

_FOLDER = Path(__file__).parents[3] / "build" / "prometheus"


def program(name: str) -> Path:
    """Return `prometheus`, `promtool`, `alertmanager` or `amtool`; skips the test without it."""
    path = find_program(name)
    if path is None:
        pytest.skip("no Prometheus: run `make prometheus`")
    return path


def find_program(name: str) -> Path | None:
    """Return one of these programs, if it is there."""
    path = _FOLDER / name
    return path if path.exists() else None
