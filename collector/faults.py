"""Faults of an export's records, as an answer names them."""

from dataclasses import dataclass, field

# Faults that an answer names, and characters of the path of one.
FAULTS_MAX = 100
PATH_CHARS_MAX = 300


@dataclass(slots=True)
class Faults:
    """Number of records that were rejected, and where and why the first of them."""

    num_rejected: int = 0
    _texts: list[str] = field(default_factory=list)
    _num_faults: int = 0

    def add(self, path: str, message: str, num_records: int) -> None:
        """Add a fault that rejects some records."""
        self.num_rejected += num_records
        self._num_faults += 1
        if self.is_named_next:
            self._texts.append(f"{_shortened(path)}: {message}")

    @property
    def is_named_next(self) -> bool:
        """True while the next fault is one of those that are named."""
        return len(self._texts) < FAULTS_MAX

    def text(self) -> str:
        """Return the first faults, and how many others there are."""
        others = self._num_faults - len(self._texts)
        return "; ".join(self._texts) + (f"; and {others} others" if others else "")


def _shortened(path: str) -> str:
    # Unknown names are not in paths, so only deeply nested values have long ones.
    return path if len(path) <= PATH_CHARS_MAX else f"{path[:PATH_CHARS_MAX]}..."
