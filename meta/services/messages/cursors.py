"""Cursors: an opaque position in a list, signed together with the list and its filter."""

import base64
import binascii
from contextvars import ContextVar

from meta.errors import CursorInvalid
from meta.secrets import is_same, signature

_DIGEST_BYTES = 12
# The key of the server that handles the call: more than one may run in a process.
_key: ContextVar[bytes] = ContextVar("cursor_key", default=b"")


def sign_with(key: bytes) -> None:
    """Sign the cursors of this context, and of all calls of a server that starts in it."""
    _key.set(key)


def encode(position: bytes, bound_to: bytes) -> str:
    """The cursor of a position; `bound_to` names the position, the list and its filter."""
    return base64.urlsafe_b64encode(position + _digest(bound_to)).decode()


def split(cursor: str, position_bytes: int | None, field: str) -> tuple[bytes, bytes]:
    """Split a cursor into position and digest. Raises CursorInvalid for other texts.

    `position_bytes` None: positions differ in length, and the digest detects other texts.
    """
    try:
        raw = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if position_bytes is None:
        position_bytes = len(raw) - _DIGEST_BYTES
    if position_bytes < 0 or len(raw) != position_bytes + _DIGEST_BYTES:
        raise CursorInvalid(f"{field} is not a cursor of this server", field=field)
    return raw[:position_bytes], raw[position_bytes:]


def check(digest: bytes, bound_to: bytes, field: str) -> None:
    """Raise CursorInvalid unless the digest is ours, of the same position, list and filter."""
    if not is_same(digest, _digest(bound_to)):
        raise CursorInvalid(f"{field} belongs to another list or filter", field=field)


def _digest(bound_to: bytes) -> bytes:
    return signature(_key.get(), bound_to, _DIGEST_BYTES)
