"""The gateway's own tokens: a value, or the lines of a file that is read again when it changes."""

import hmac
from pathlib import Path

from meta.file_changes import FileChanges

CHECK_SECS = 5.0


class OwnTokens:
    """Tokens that stand for the gateway's own rights; safe for many threads.

    A file may hold several, a line each: so a new one is valid before its holders use it.
    """

    def __init__(self, token: str, file: str = "") -> None:
        self._tokens = tokens_of(token)
        self._file = Path(file) if file else None
        self._changes = FileChanges([file], CHECK_SECS) if file else None
        # A file that is emptied later does not open the gateway to all.
        self.are_required = bool(self._tokens)

    def include(self, token: str) -> bool:
        """True for a token of the gateway."""
        self._follow()
        return any(hmac.compare_digest(token.encode(), own) for own in self._tokens)

    def _follow(self) -> None:
        if self._file is None or self._changes is None or not self._changes.have_happened():
            return
        try:
            tokens = tokens_of(self._file.read_text())
        except (OSError, UnicodeDecodeError):
            tokens = []
        # Empty while it is being written.
        if tokens:
            self._tokens = tokens


def tokens_of(text: str) -> list[bytes]:
    """The tokens of a setting's value, one a line."""
    return [line.strip().encode() for line in text.splitlines() if line.strip()]
