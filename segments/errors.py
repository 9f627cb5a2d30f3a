"""One class per reaction that a caller of segments can have."""


class SegmentsError(Exception):
    """Anything that segments raises on purpose."""


class StoreError(SegmentsError):
    """An object store did not do what was asked."""


class ObjectExists(StoreError):
    """The key is taken: read the object back and see whose it is."""


class ObjectMissing(StoreError):
    """No object has this key."""


class StoreUnavailable(StoreError):
    """The store does not answer: retry later."""


class StoreUnusable(StoreError):
    """The store is configured wrongly or lacks what we need: tell the operator."""


class CorruptObject(SegmentsError):
    """An object's bytes are not what its format says: set it aside."""
