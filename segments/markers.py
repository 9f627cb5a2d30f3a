"""Markers in the bucket: segments that are hidden, objects that were replaced or that stay.

A catalog that is rebuilt from the bucket reads them, so that none of them is live again. The object
that replaces another one lies in the same folder.
"""

import json
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from segments.errors import ObjectExists, ObjectMissing
from segments.ids import is_canonical_uuid
from segments.keys import (
    HIDDEN_ROOT,
    REPLACED_ROOT,
    WITNESS_ROOT,
    MarkerKey,
    hidden_key,
    parse_key,
    replaced_key,
)
from segments.store.interface import ObjectStore

# One object for each deleted dataset whose objects stay. meta writes below this root alone.
KEPT_ROOT = f"{WITNESS_ROOT}kept/"


@dataclass(frozen=True, slots=True)
class Markers:
    """Keys of hidden segments, and pairs of a replaced key and the one that replaces it."""

    hidden: frozenset[str]
    replaced: frozenset[tuple[str, str]]

    def reason(self, key: str, present: Collection[str]) -> str:
        """Reason that an object is not live, "" if no marker says so.

        A replacement counts once its object is `present`, because its marker comes first.
        """
        pairs = [
            (old, new)
            for old, new in self.replaced
            # Both are hidden once a replacement was reverted.
            if new in present and not {old, new} <= self.hidden
        ]
        # If a killed command and the next one each left a copy, one of the two counts.
        rivals = {old for old, new in pairs if new == key}
        if any(old == key or (old in rivals and new > key) for old, new in pairs):
            return "replaced"
        return "hidden" if key in self.hidden else ""


def mark_hidden(store: ObjectStore, object_key: str) -> None:
    """Mark a segment as hidden; repeating it changes nothing."""
    with suppress(ObjectExists):
        store.put_if_absent(hidden_key(object_key), b"hidden\n")


def mark_replaced(store: ObjectStore, object_key: str, new_key: str) -> None:
    """Mark an object as replaced; repeating it changes nothing."""
    with suppress(ObjectExists):
        store.put_if_absent(replaced_key(object_key, new_key), b"replaced\n")


def mark_kept(store: ObjectStore, dataset_id: str, name: str) -> None:
    """Mark the objects of a deleted dataset as left permanently; repeating it changes nothing."""
    with suppress(ObjectExists):
        store.put_if_absent(f"{KEPT_ROOT}{dataset_id}", json.dumps({"name": name}).encode())


def read_kept(store: ObjectStore) -> frozenset[str]:
    """Read the ids of deleted datasets whose objects stay."""
    ids = (info.key.removeprefix(KEPT_ROOT) for info in store.list(KEPT_ROOT))
    return frozenset(filter(is_canonical_uuid, ids))


def read_kept_name(store: ObjectStore, dataset_id: str) -> str:
    """Read the name that a deleted dataset had; "" if the marker does not say."""
    try:
        name = json.loads(store.get(f"{KEPT_ROOT}{dataset_id}"))["name"]
    except (ObjectMissing, ValueError, KeyError, TypeError):
        return ""
    return name if isinstance(name, str) else ""


def read_markers(store: ObjectStore) -> Markers:
    """Read all markers of a bucket; there are few."""
    hidden, replaced = set[str](), set[tuple[str, str]]()
    for root in (HIDDEN_ROOT, REPLACED_ROOT):
        for info in store.list(root):
            match parse_key(info.key):
                case MarkerKey(object_key, is_replaced=False):
                    hidden.add(object_key)
                case MarkerKey(object_key, is_replaced=True):
                    folder, name = object_key.rpartition("/")[0], info.key.rpartition("/")[2]
                    replaced.add((object_key, f"{folder}/{name}"))
    return Markers(frozenset(hidden), frozenset(replaced))
