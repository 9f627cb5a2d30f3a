"""Ids: the time-ordered UUIDs that name rows and objects, and their text."""

import hashlib
import os
import time
from functools import lru_cache
from uuid import UUID

UUID_CHARACTERS = 36


def new_uuid7() -> UUID:
    """Make a time-ordered UUID; ids of one process order by creation down to 0.25 microseconds."""
    millis, nanos = divmod(time.time_ns(), 1_000_000)
    fraction = nanos * 4096 // 1_000_000
    random = int.from_bytes(os.urandom(8)) >> 2
    return UUID(int=millis << 80 | 7 << 76 | fraction << 64 | 2 << 62 | random)


def uuid_of(text: str) -> UUID:
    """Make an id that follows from a text: a repetition gets the same one."""
    return UUID(bytes=hashlib.blake2b(text.encode(), digest_size=16).digest())


def is_canonical_uuid(text: str) -> bool:
    """Return whether `text` is a UUID in lower case with hyphens."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


@lru_cache(maxsize=16_384)
def parse_uuid(text: str) -> UUID:
    """Parse an id with hyphens; the same ids come again and again. Raises ValueError."""
    if len(text) != UUID_CHARACTERS:
        raise ValueError(f"an id has {UUID_CHARACTERS} characters, not {len(text)}")
    return UUID(text)


@lru_cache(maxsize=16_384)
def canonical_uuid(text: str) -> str:
    """Return an id with hyphens in lower case; the same ids come again and again."""
    return str(parse_uuid(text))
