"""Puts aside what cannot be merged: the raw bytes, and a note that says why.

An object that exists with equal bytes is success, so that a repeated merge changes nothing.
"""

import json

from segments.errors import ObjectExists, StoreError
from segments.keys import quarantine_key, quarantine_note_key, quarantine_whole_key
from segments.signals import Signal
from segments.store.interface import ObjectStore


def put_slice(
    store: ObjectStore,
    stream_id: str,
    offset: int,
    token_id: str,
    signal: Signal,
    slice_index: int,
    body: bytes,
    cause: str,
) -> None:
    """Put one payload aside. Raises StoreError if the store will not have it."""
    key = quarantine_key(stream_id, offset, token_id, signal, slice_index)
    _put(store, key, body, cause)


def put_whole(store: ObjectStore, stream_id: str, offset: int, body: bytes, cause: str) -> None:
    """Put a whole baby segment aside, of which nothing can be read."""
    _put(store, quarantine_whole_key(stream_id, offset), body, cause)


def _put(store: ObjectStore, key: str, body: bytes, cause: str) -> None:
    # The note goes last: whoever lists notes finds only bytes that are there.
    _put_equal(store, key, body)
    note = {"cause": cause, "size_bytes": len(body)}
    try:
        store.put_if_absent(quarantine_note_key(key), json.dumps(note).encode())
    except ObjectExists:
        # An earlier attempt may have worded the cause differently; one note is enough.
        return


def _put_equal(store: ObjectStore, key: str, body: bytes) -> None:
    try:
        store.put_if_absent(key, body)
    except ObjectExists:
        if store.get(key) != body:
            raise StoreError(f"other bytes stand in the quarantine under {key}") from None
