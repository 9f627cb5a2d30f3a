"""File of the records that a canary follows, by which a later process judges them."""

import json
from dataclasses import dataclass
from pathlib import Path

from segplane.cli.canary.probes import FOLLOWED_MAX, CanaryProbe
from segplane.terminal.whole_files import whole_file


@dataclass(frozen=True, slots=True)
class CanaryState:
    """A run, its next number, the records that were acknowledged and not judged, the last reading.

    `read_at_nanos` is the start of the last complete reading; 0 = none.
    """

    run: str
    next_number: int
    probes: tuple[CanaryProbe, ...]
    read_at_nanos: int


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
                CanaryProbe(int(number), int(sent_at), {"acknowledged": float(seconds)})
                for number, sent_at, seconds in content["followed"][:FOLLOWED_MAX]
            )
            run, next_number = str(content["run"]), int(content["next_number"])
            return CanaryState(run, next_number, probes, int(content["read_at_nanos"]))
        except (KeyError, TypeError, ValueError) as error:
            raise OSError(f"{self.path} is not the state of a canary: {error!r}") from None

    def write(self, state: CanaryState) -> None:
        """Replace the file. Raises OSError."""
        rows = [
            (probe.number, probe.sent_at_nanos, probe.steps["acknowledged"])
            for probe in state.probes
        ]
        content = {
            "run": state.run,
            "next_number": state.next_number,
            "followed": rows,
            "read_at_nanos": state.read_at_nanos,
        }
        with whole_file(self.path) as file:
            file.write(json.dumps(content).encode())
