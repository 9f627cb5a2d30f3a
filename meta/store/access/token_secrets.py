"""Plaintexts of tokens: made once, recognised by a keyed hash, stored nowhere."""

import base64
import zlib
from dataclasses import dataclass

from sqlalchemy import select

from meta.secrets import is_among, keyed_digest, random_bytes
from meta.store.engine.pool import Transaction
from meta.store.tables.server import meta_state

PREFIX = "it_"
# Prefix of access tokens, for which scanners of repositories look.
ACCESS_PREFIX = "segp_"
LOCK_PREFIX = "lock_"
HINT_CHARACTERS = 4
# Stands for the pepper that the database made for itself, as the previous one.
DATABASE_PEPPER = b"database"
# One text for unknown and revoked, so that a reply does not reveal which plaintexts existed.
UNKNOWN_MESSAGE = "the ingest token is unknown or revoked, or its tenant is suspended"
_SECRET_BYTES = 32
_CHECKSUM_CHARACTERS = 6
_CHARACTERS_BEHIND_PREFIX = 43 + _CHECKSUM_CHARACTERS
_PEPPER = select(meta_state.c.token_pepper)


@dataclass(frozen=True, slots=True)
class Peppers:
    """Keys of the hash of tokens: for new tokens, and for others that are accepted as well.

    b"" = none, and as `current` the database's own pepper.
    """

    current: bytes = b""
    # The pepper after the next rotation, which may be the current one of other servers already.
    upcoming: bytes = b""
    # The pepper before the last rotation; DATABASE_PEPPER = the database's own.
    previous: bytes = b""


@dataclass(frozen=True, slots=True)
class TokenDigests:
    """Digests of one plaintext: under the current pepper first, then under the others."""

    current: bytes
    others: tuple[bytes, ...]

    def all(self) -> tuple[bytes, ...]:
        """Every digest that the token may be stored by, the current one first."""
        return (self.current, *self.others)


class HashFunction:
    """HMAC-SHA256 under each pepper, as a function of the plaintext."""

    def __init__(self, current: bytes, upcoming: bytes, previous: bytes) -> None:
        self._current = current
        self._others = tuple(pepper for pepper in (upcoming, previous) if pepper)
        # Says which pepper a stored digest was made with, and nothing of the pepper.
        self.fingerprint = keyed_digest(current, b"fingerprint").hex()[:16]
        self._is_rotating = bool(previous)

    def __call__(self, plaintext: str) -> TokenDigests:
        """Hash a plaintext."""
        raw = plaintext.encode()
        return TokenDigests(
            keyed_digest(self._current, raw),
            tuple(keyed_digest(pepper, raw) for pepper in self._others),
        )

    def needs_rehash(self, digests: TokenDigests, stored: bytes, fingerprint: str) -> bool:
        """True for a token that was found by the previous pepper, or by one not known to be ours.

        One under the upcoming pepper stays: servers that rotated earlier have moved it.
        """
        if not self._is_rotating or fingerprint == self.fingerprint:
            return False
        return is_among(stored, (digests.current, digests.others[-1]))

    def needs_previous(self, fingerprint: str) -> bool:
        """True for a stored token that is not known to work without the previous pepper."""
        return self._is_rotating and fingerprint != self.fingerprint


class TokenHasher:
    """Turns plaintexts into the digests that are stored; the database's own pepper is read once."""

    def __init__(self, peppers: Peppers) -> None:
        self._peppers = peppers
        self._function: HashFunction | None = None

    def digest(self, tx: Transaction, plaintext: str) -> bytes:
        """HMAC-SHA256 of a new token's plaintext."""
        return self.hash_function(tx)(plaintext).current

    def hash_function(self, tx: Transaction) -> HashFunction:
        """The digests of plaintexts under each pepper."""
        if self._function is None:
            peppers = self._peppers
            pepper = b""
            if not peppers.current or peppers.previous == DATABASE_PEPPER:
                pepper = bytes(tx.execute(_PEPPER).scalar_one())
            is_own = peppers.previous == DATABASE_PEPPER
            self._function = HashFunction(
                peppers.current or pepper, peppers.upcoming, pepper if is_own else peppers.previous
            )
        return self._function


def cursor_key(tx: Transaction) -> bytes:
    """The key of cursors, the same for all servers of a database."""
    return keyed_digest(bytes(tx.execute(_PEPPER).scalar_one()), b"cursors")


def new_plaintext(prefix: str = PREFIX) -> str:
    """A fresh secret: the prefix, 256 random bits, a checksum."""
    body = prefix + _text(random_bytes(_SECRET_BYTES))
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
