"""The demo as a whole, as `make demo` runs it."""

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_demo_holds() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "segplane", "demo"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("every record exactly once") == 3
    assert "proof, as an Iceberg table: " in done.stdout
    assert "0 violations" in done.stdout
