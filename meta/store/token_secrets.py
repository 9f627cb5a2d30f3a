"""Plaintexts of ingest tokens: made once, recognised by a keyed hash, stored nowhere."""

import base64
import hashlib
import hmac
import secrets
import zlib

from sqlalchemy import select

from meta.store.engine import Transaction
from meta.store.tables import meta_state

PREFIX = "it_"
HINT_CHARACTERS = 4
# One text for unknown and revoked, so that a reply does not reveal which plaintexts existed.
UNKNOWN_MESSAGE = "the ingest token is unknown or revoked"
_SECRET_BYTES = 32
_CHECKSUM_CHARACTERS = 6
_CHARACTERS = len(PREFIX) + 43 + _CHECKSUM_CHARACTERS
_PEPPER = select(meta_state.c.token_pepper)


class TokenHasher:
    """Turns plaintexts into the digests that are stored.

    Without a configured pepper the database's own one is the key, read once.
    """

    def __init__(self, pepper: bytes) -> None:
        self._pepper = pepper

    def digest(self, tx: Transaction, plaintext: str) -> bytes:
        """HMAC-SHA256 of a plaintext under the pepper."""
        if not self._pepper:
            self._pepper = bytes(tx.execute(_PEPPER).scalar_one())
        return hmac.digest(self._pepper, plaintext.encode(), hashlib.sha256)


def new_plaintext() -> str:
    """A fresh secret: the prefix, 256 random bits, a checksum."""
    body = PREFIX + _text(secrets.token_bytes(_SECRET_BYTES))
    return body + _checksum(body)


def is_well_formed(plaintext: str) -> bool:
    """False for what cannot be one of our secrets, which saves a query."""
    if len(plaintext) != _CHARACTERS or not plaintext.isascii():
        return False
    body, checksum = plaintext[:-_CHECKSUM_CHARACTERS], plaintext[-_CHECKSUM_CHARACTERS:]
    return body.startswith(PREFIX) and checksum == _checksum(body)


def hint(plaintext: str) -> str:
    """The end of a plaintext, for people to tell tokens apart."""
    return plaintext[-HINT_CHARACTERS:]


def _checksum(body: str) -> str:
    return _text(zlib.crc32(body.encode()).to_bytes(4))


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
