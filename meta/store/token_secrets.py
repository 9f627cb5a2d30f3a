"""Plaintexts of tokens: made once, recognised by a keyed hash, stored nowhere."""

import base64
import hashlib
import hmac
import secrets
import zlib
from collections.abc import Callable

from sqlalchemy import select

from meta.store.engine import Transaction
from meta.store.tables import meta_state

PREFIX = "it_"
# Of access tokens; scanners of repositories look for it.
ACCESS_PREFIX = "segp_"
HINT_CHARACTERS = 4
# One text for unknown and revoked, so that a reply does not reveal which plaintexts existed.
UNKNOWN_MESSAGE = "the ingest token is unknown or revoked"
_SECRET_BYTES = 32
_CHECKSUM_CHARACTERS = 6
_CHARACTERS_BEHIND_PREFIX = 43 + _CHECKSUM_CHARACTERS
_PEPPER = select(meta_state.c.token_pepper)


class TokenHasher:
    """Turns plaintexts into the digests that are stored.

    Without a configured pepper the database's own one is the key, read once.
    """

    def __init__(self, pepper: bytes) -> None:
        self._pepper = pepper

    def digest(self, tx: Transaction, plaintext: str) -> bytes:
        """HMAC-SHA256 of a plaintext under the pepper."""
        return self.hash_function(tx)(plaintext)

    def hash_function(self, tx: Transaction) -> Callable[[str], bytes]:
        """HMAC-SHA256 under the pepper, as a function of the plaintext."""
        if not self._pepper:
            self._pepper = bytes(tx.execute(_PEPPER).scalar_one())
        pepper = self._pepper
        return lambda plaintext: hmac.digest(pepper, plaintext.encode(), hashlib.sha256)


def new_plaintext(prefix: str = PREFIX) -> str:
    """A fresh secret: the prefix, 256 random bits, a checksum."""
    body = prefix + _text(secrets.token_bytes(_SECRET_BYTES))
    return body + _checksum(body)


def is_well_formed(plaintext: str, prefix: str = PREFIX) -> bool:
    """False for what cannot be one of our secrets, which saves a query."""
    if len(plaintext) != len(prefix) + _CHARACTERS_BEHIND_PREFIX or not plaintext.isascii():
        return False
    body, checksum = plaintext[:-_CHECKSUM_CHARACTERS], plaintext[-_CHECKSUM_CHARACTERS:]
    return body.startswith(prefix) and checksum == _checksum(body)


def hint(plaintext: str) -> str:
    """The end of a plaintext, for people to tell tokens apart."""
    return plaintext[-HINT_CHARACTERS:]


def _checksum(body: str) -> str:
    return _text(zlib.crc32(body.encode()).to_bytes(4))


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
