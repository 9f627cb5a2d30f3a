"""Errors of objects and files, one class per reaction of the caller."""


class SegmentsError(Exception):
    """Something about an object or a file is not as expected."""


class StoreError(SegmentsError):
    """The object store refused or could not serve a request, and a repetition will not help."""


class ObjectExists(StoreError):
    """The key has an object already. Read it, or take another key."""


class ObjectMissing(StoreError):
    """The key has no object."""


class StoreUnavailable(StoreError):
    """The store did not answer; a write may or may not have happened. Try again."""


class StoreUnusable(StoreError):
    """The store cannot serve as it is configured; the message says what an operator must change."""


class CorruptObject(SegmentsError):
    """An object's bytes do not follow its format. Set it aside; reading again will not help."""
