"""Listings of the bucket: objects of all stores in the order of keys, page by page."""

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import TypeVar

from segments.errors import ObjectMissing
from segments.ids import is_canonical_uuid
from segments.keys import (
    BABIES_ROOT,
    QUARANTINE_ROOT,
    BabyKey,
    QuarantineKey,
    baby_key,
    baby_prefix,
    parse_key,
    quarantine_note_key,
)
from segments.store.interface import ObjectInfo, ObjectStore

Item = TypeVar("Item")


def list_objects(store: ObjectStore, *roots: str, after: str = "") -> Iterator[ObjectInfo]:
    """List the objects below roots and behind a key, in the order of keys."""
    for root in sorted(roots):
        if after < _end(root):
            yield from store.list(root, after if after.startswith(root) else "")


def _end(root: str) -> str:
    """The text behind all keys below a root, which ends with a slash."""
    return root[:-1] + chr(ord("/") + 1)


def by_owner(objects: Iterable[ObjectInfo]) -> Iterator[tuple[str, Iterator[ObjectInfo]]]:
    """Group objects by the prefix of their dataset or stream; a listing has them side by side."""
    return itertools.groupby(objects, key=lambda info: "/".join(info.key.split("/", 2)[:2]))


def stream_ids(babies: Iterable[ObjectInfo]) -> Iterator[str]:
    """The streams of listed babies, each once, in order."""
    for owner, _ in by_owner(babies):
        if is_canonical_uuid(stream_id := owner.removeprefix(BABIES_ROOT)):
            yield stream_id


def list_babies(
    store: ObjectStore, stream_id: str, first: int = 0, last: int | None = None
) -> Iterator[ObjectInfo]:
    """List the babies of a stream between two offsets; other names are skipped."""
    after = baby_key(stream_id, first - 1) if first else ""
    for info in store.list(baby_prefix(stream_id), after):
        name = parse_key(info.key)
        if isinstance(name, BabyKey):
            if last is not None and name.offset > last:
                return
            yield info


def list_payloads(
    store: ObjectStore, stream_id: str = "", after: str = ""
) -> Iterator[tuple[ObjectInfo, QuarantineKey]]:
    """List the payloads of the quarantine, of one stream or of all, without their notes."""
    prefix = f"{QUARANTINE_ROOT}{stream_id}/" if stream_id else QUARANTINE_ROOT
    for info in store.list(prefix, after):
        name = parse_key(info.key)
        if isinstance(name, QuarantineKey) and not name.is_note:
            yield info, name


def read_note(store: ObjectStore, key: str) -> dict[str, object]:
    """Read the note of a payload; empty if a nursery died before it wrote it."""
    try:
        note = json.loads(store.get(quarantine_note_key(key)))
    except (ObjectMissing, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Split items into lists of at most `size`, as they come."""
    remaining = iter(items)
    while batch := list(itertools.islice(remaining, size)):
        yield batch


def exists(store: ObjectStore, key: str) -> bool:
    """Ask the store for one object: a listing may be older than it."""
    try:
        store.head(key)
    except ObjectMissing:
        return False
    return True
