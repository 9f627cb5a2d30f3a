"""Authenticated encryption of values that browsers keep for the gateway."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from meta.secrets import keyed_digest

Fields: TypeAlias = Mapping[str, str | float | None]
_COOKIE = b"segplane console cookie "
_FORM = b"segplane console form "


class Sealer:
    """Seals values with the first of several keys and opens them with any, so that keys rotate.

    A value is bound to a purpose: one that is sealed for a cookie opens as no other cookie.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = [key.encode() for key in keys]

    def seal(self, purpose: str, fields: Fields) -> str:
        """Compress and encrypt fields; the text has letters, digits, `-` and `_` only."""
        content = zlib.compress(json.dumps(fields, separators=(",", ":")).encode(), 9)
        return self._ciphers(purpose).encrypt(content).decode().rstrip("=")

    def open(self, purpose: str, text: str) -> Fields | None:
        """Decrypt fields; None for a text that was not sealed for the purpose."""
        try:
            padded = text.encode("ascii") + b"=" * (-len(text) % 4)
            content = self._ciphers(purpose).decrypt(padded)
        except (InvalidToken, UnicodeEncodeError):
            return None
        # It is authenticated, so that its size and form are ours.
        fields: Fields = json.loads(zlib.decompress(content))
        return fields

    def form_tokens(self, session_id: str) -> list[str]:
        """Return the tokens of a session's forms: one for each key, the first for new forms."""
        message = _FORM + session_id.encode()
        return [keyed_digest(key, message).hex() for key in self._keys]

    def _ciphers(self, purpose: str) -> MultiFernet:
        message = _COOKIE + purpose.encode()
        return MultiFernet(
            [Fernet(base64.urlsafe_b64encode(keyed_digest(key, message))) for key in self._keys]
        )
