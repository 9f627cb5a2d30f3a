"""Bounds of replies without pages: refused by their number before they are read, or by their size.

A list that has grown beyond a reply is refused with the call that reads it in pages.
"""

from google.protobuf.message import Message

from meta.errors import ReplyTooLarge
from meta.services.messages.convert import REPLY_BYTES_MAX

# The size of an id with its tags; each item is larger.
ITEM_BYTES_MIN = 40


def check_number(number: int, what: str, instead: str) -> None:
    """Raise ReplyTooLarge for so many items that they cannot fit, whatever they hold."""
    if number * ITEM_BYTES_MIN > REPLY_BYTES_MAX:
        raise _too_large(number, what, instead)


def check_size(reply: Message, number: int, what: str, instead: str) -> None:
    """Raise ReplyTooLarge for a reply above the bound."""
    if reply.ByteSize() > REPLY_BYTES_MAX:
        raise _too_large(number, what, instead)


def _too_large(number: int, what: str, instead: str) -> ReplyTooLarge:
    return ReplyTooLarge(
        f"{number} {what} do not fit into one reply of {REPLY_BYTES_MAX} bytes; {instead}"
    )
