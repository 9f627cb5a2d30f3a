"""Secrets: random bits for new ones, keyed digests, and comparisons that take the same time.

Only this module uses `hmac` and `secrets`, or compares digests:
tests/style/test_stray_secrets.py checks.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence


def random_bytes(size_bytes: int) -> bytes:
    """Bits of a new secret, from the operating system."""
    return secrets.token_bytes(size_bytes)


def is_same(shown: bytes, expected: bytes) -> bool:
    """Compare in a time that does not depend on the place of a difference."""
    return hmac.compare_digest(shown, expected)


def is_among(shown: bytes, accepted: Sequence[bytes]) -> bool:
    """Compare with each accepted secret, all of them always."""
    # `any` would end at the first match, so the time would depend on the secret.
    return sum(is_same(shown, secret) for secret in accepted) > 0


def keyed_digest(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA256, by which tokens are stored."""
    return hmac.digest(key, message, hashlib.sha256)


def signature(key: bytes, message: bytes, size_bytes: int) -> bytes:
    """Keyed BLAKE2b of a chosen length, by which cursors are signed."""
    return hashlib.blake2b(message, digest_size=size_bytes, key=key).digest()


def token_name(token: str) -> str:
    """SHA-256 of a token: names its holder without keeping the token."""
    return hashlib.sha256(token.encode()).hexdigest()
