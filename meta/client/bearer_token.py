"""The bearer token of a client: a value, or a file that is read again when it changes."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from meta.client.file_changes import FileChanges

Metadata: TypeAlias = tuple[tuple[str, str], ...]
CHECK_SECS = 5.0


def fixed(token: str) -> Callable[[], Metadata]:
    """The metadata of calls with one token; "" = without."""
    metadata = _metadata(token)
    return lambda: metadata


class TokenFile:
    """The metadata of calls with the token in a file, as it is then.

    Raises ValueError if the file cannot be read at first; later it keeps the last token.
    """

    def __init__(self, file: str) -> None:
        self._file = Path(file)
        self._changes = FileChanges([file], CHECK_SECS)
        try:
            self._metadata = _metadata(self._file.read_text().strip())
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{file} cannot be read: {error}") from error

    def __call__(self) -> Metadata:
        """The metadata of a call that begins now."""
        if self._changes.have_happened():
            try:
                token = self._file.read_text().strip()
            except (OSError, UnicodeDecodeError):
                token = ""
            # Empty while it is being written.
            if token:
                self._metadata = _metadata(token)
        return self._metadata


def _metadata(token: str) -> Metadata:
    return (("authorization", f"Bearer {token}"),) if token else ()
