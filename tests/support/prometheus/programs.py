"""Programs that `make prometheus` unpacks; a test without them is skipped."""

from pathlib import Path

import pytest

_FOLDER = Path(__file__).parents[3] / "build" / "prometheus"


def program(name: str) -> Path:
    """Return `prometheus`, `promtool`, `alertmanager` or `amtool`; skips the test without it."""
    path = _FOLDER / name
    if not path.exists():
        pytest.skip("no Prometheus: run `make prometheus`")
    return path
