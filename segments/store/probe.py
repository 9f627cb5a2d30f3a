"""The proof, before a process uses a store, that it never overwrites an object."""

import uuid

from segments.errors import ObjectExists, StoreUnusable
from segments.store.interface import ObjectStore

# One small object that stays: a probe that dies half-way leaves nothing else behind.
PROBE_KEY = "probe/put-if-absent"


def probe_put_if_absent(store: ObjectStore) -> None:
    """Write one key twice and raise StoreUnusable unless the second write is refused."""
    first, second = uuid.uuid4().bytes, uuid.uuid4().bytes
    try:
        store.put_if_absent(PROBE_KEY, first)
    except ObjectExists:
        first = b""  # An earlier probe's object, or a colleague's.
    try:
        store.put_if_absent(PROBE_KEY, second)
    except ObjectExists:
        stored = store.get(PROBE_KEY)
        if stored == second or first not in (b"", stored):
            raise StoreUnusable(
                "the object store answered that an object exists, and overwrote it; "
                "use one that honours If-None-Match: *"
            ) from None
        return
    raise StoreUnusable(
        "the object store overwrites objects: it ignores If-None-Match: * on PUT; use one that "
        "honours it, as AWS S3 and Cloudflare R2 do"
    )
