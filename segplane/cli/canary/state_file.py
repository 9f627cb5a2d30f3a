"""File of the records that a canary follows, by which a later process judges them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from segplane.cli.canary.probes import FOLLOWED_MAX, Probe
from segplane.terminal.whole_files import whole_file


@dataclass(frozen=True, slots=True)
class CanaryState:
    """A run, its next number, and the records that were acknowledged and not judged."""

    run: str
    next_number: int
    probes: tuple[Probe, ...]


@dataclass(frozen=True, slots=True)
class StateFile:
    """One canary's file; written as a whole, so that a crash leaves the old one or the new one."""

    path: Path

    def read(self) -> CanaryState | None:
        """Read the state; None if there is none. Raises OSError if it is not one."""
        try:
            content = json.loads(self.path.read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise OSError(f"{self.path} is not the state of a canary: {error}") from None
        try:
            probes = tuple(
                Probe(int(number), int(sent_at), {"acknowledged": float(seconds)})
                for number, sent_at, seconds in content["followed"][:FOLLOWED_MAX]
            )
            return CanaryState(str(content["run"]), int(content["next_number"]), probes)
        except (KeyError, TypeError, ValueError) as error:
            raise OSError(f"{self.path} is not the state of a canary: {error!r}") from None

    def write(self, run: str, next_number: int, followed: Iterable[Probe]) -> None:
        """Replace the file. Raises OSError."""
        rows = [
            (probe.number, probe.sent_at_nanos, probe.steps["acknowledged"]) for probe in followed
        ]
        content = {"run": run, "next_number": next_number, "followed": rows}
        with whole_file(self.path) as file:
            file.write(json.dumps(content).encode())
