"""Cursors: an opaque position in a list, signed together with the list and its filter."""

import base64
import binascii
from collections.abc import Callable
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


def decode(
    cursor: str, position_bytes: int | None, bound_to: Callable[[bytes], bytes], field: str
) -> bytes:
    """The position of a cursor that is ours; `bound_to` makes what it is bound to.

    Raises CursorInvalid for other texts, and for the cursor of another list or filter.
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
    position = raw[:position_bytes]
    if not is_same(raw[position_bytes:], _digest(bound_to(position))):
        raise CursorInvalid(f"{field} belongs to another list or filter", field=field)
    return position


def _digest(bound_to: bytes) -> bytes:
    return signature(_key.get(), bound_to, _DIGEST_BYTES)
