"""Observers of the attempts of calls: a process counts those of its clients."""

from typing import Protocol


class AttemptObserver(Protocol):
    """Observer of the attempts of calls; `method` is `/package.Service/Method`."""

    def begin(self, method: str) -> float:
        """Note an attempt; returns what `end` needs."""

    def end(self, method: str, began: float, status: str) -> None:
        """Note its end by the name of its status."""


class Unobserved:
    """Observer of a client whose calls nobody counts."""

    def begin(self, _method: str) -> float:
        """Note nothing."""
        return 0.0

    def end(self, _method: str, _began: float, _status: str) -> None:
        """Note nothing."""
