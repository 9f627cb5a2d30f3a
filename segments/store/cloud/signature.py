"""Signed URLs of single objects, as the clients of both clouds make them."""

from typing import Protocol

SIGNED_SECS = 900


class CannotSign(Exception):
    """The process's credentials cannot sign; the message says which ones can."""


class ReadSigner(Protocol):
    """Signs reads of a bucket or container."""

    def sign(self, name: str, method: str) -> str:
        """Return the URL of an object by its full name.

        Raises CannotSign, StoreUnavailable.
        """
        ...
