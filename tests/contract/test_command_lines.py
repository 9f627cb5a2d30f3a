"""Command lines of the processes: they know few arguments, and refuse all others."""

import subprocess
import sys

import pytest

from segplane.deploy.processes import Process

DEADLINE_SECS = 60


def _run(module: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-P", "-m", module, *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECS,
        check=False,
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("process", Process)
def test_a_process_refuses_an_argument_that_it_does_not_know(process: Process) -> None:
    done = _run(process.package, "--dry-run")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"usage: python -m {process.package}")
    assert "--dry-run" in done.stderr.splitlines()[-1]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("process", Process)
def test_the_help_of_a_process_names_its_settings(process: Process) -> None:
    done = _run(process.package, "--help")

    assert done.returncode == 0
    words = done.stdout.split()
    assert "docs/settings.md" in words
    assert f"{process.prefix}*" in words


@pytest.mark.sampled(4)
@pytest.mark.parametrize("module", [*(process.package for process in Process), "segplane"])
def test_a_process_says_its_version(module: str) -> None:
    version = _run("segplane", "version").stdout.strip()

    done = _run(module, "--version")

    assert done.returncode == 0
    assert done.stdout.split()[-1] == version


@pytest.mark.long
def test_a_child_of_meta_has_a_number() -> None:
    done = _run("meta", "--child", "first")

    assert done.returncode == 2
    assert "--child" in done.stderr
