"""Versions of catalog entries, by which the second of two concurrent changes is refused.

A version is a digest of the fields that a change may replace, so that changes by servers of the
release before count as well and nothing is stored.
"""

from hashlib import sha256

from google.protobuf.message import Message

from meta.errors import RaceLost
from meta.services.messages import checks

_DIGEST_HEX = 32


def of(content: Message) -> str:
    """The version of an entry with this content."""
    return sha256(content.SerializeToString(deterministic=True)).hexdigest()[:_DIGEST_HEX]


def expected(request: Message) -> str | None:
    """The version that a change was made for; None = any. Raises InvalidArgument."""
    return checks.filter_name(request, "expected_version")


def check(expected_version: str | None, content: Message, *, is_in_effect: bool) -> None:
    """Refuse a change that was made for other content, which the caller has locked.

    A change that is in effect already passes: it may be the repetition of a call whose answer was
    lost. Raises RaceLost.
    """
    version = of(content)
    if expected_version in (None, version) or is_in_effect:
        return
    raise RaceLost(
        "it has changed since the version that the change was made for; read it again",
        expected_version=expected_version,
        version=version,
    )
