"""Faults of an export's records, as an answer names them."""

from dataclasses import dataclass, field

# Faults that an answer names, characters of their texts, and of the path of one.
FAULTS_MAX = 100
TEXT_CHARS_MAX = 16_000
PATH_CHARS_MAX = 300


@dataclass(slots=True)
class Faults:
    """Number of records that were rejected, and where and why the first of them.

    >>> faults = Faults()
    >>> faults.add("resourceLogs[0].resource", "found text, expected an object", 3)
    >>> faults.num_rejected, faults.text()
    (3, 'resourceLogs[0].resource: found text, expected an object')
    """

    num_rejected: int = 0
    _texts: list[str] = field(default_factory=list)
    _num_chars: int = 0
    _num_unnamed: int = 0

    def add(self, path: str, message: str, num_records: int) -> None:
        """Add a fault that rejects some records."""
        self.num_rejected += num_records
        if not self.is_named_next:
            self._num_unnamed += num_records
            return
        text = f"{_shortened(path)}: {message}"
        self._texts.append(text)
        self._num_chars += len(text)

    @property
    def is_named_next(self) -> bool:
        """True while the next fault is one of those that are named."""
        return len(self._texts) < FAULTS_MAX and self._num_chars < TEXT_CHARS_MAX

    def text(self) -> str:
        """Return the first faults, and how many records were rejected for others."""
        more = f"; and {self._num_unnamed} more" if self._num_unnamed else ""
        return "; ".join(self._texts) + more


def _shortened(path: str) -> str:
    # Unknown names are not in paths, so only deeply nested values have long ones.
    return path if len(path) <= PATH_CHARS_MAX else f"{path[:PATH_CHARS_MAX]}..."
