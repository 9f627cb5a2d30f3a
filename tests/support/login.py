"""A person at a terminal, with their own logins."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from segplane.__main__ import app


@dataclass(frozen=True)
class Person:
    """Runs commands with their own configuration folder."""

    folder: Path
    address: str

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command as a process; its output is a pipe."""
        inherited = {n: v for n, v in os.environ.items() if not n.startswith("SEGPLANE_")}
        return subprocess.Popen(
            [sys.executable, "-m", "segplane", *arguments],
            env={**inherited, **self._variables()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, stdin: str = "", **variables: str) -> tuple[int, str]:
        """Run a command in this process; returns the exit code and all it printed."""
        outside: dict[str, str | None] = {
            name: None for name in os.environ if name.startswith("SEGPLANE_")
        }
        env = outside | self._variables() | variables
        result = CliRunner().invoke(app, arguments, input=stdin, env=env)
        return result.exit_code, result.output

    def _variables(self) -> dict[str, str]:
        return {"XDG_CONFIG_HOME": str(self.folder), "SEGPLANE_META_ADDRESS": self.address}

    @property
    def files(self) -> list[Path]:
        """The saved logins."""
        return sorted(self.folder.rglob("*.json"))
