"""Stores of a deployment: the default one, and named ones for the segments of some datasets.

The key of an object names its store (`segments.store_names.store_of`), so a key alone locates its
object, and the keys of all stores are one namespace.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from segments.errors import StoreUnusable
from segments.location import StoreLocation
from segments.store_names import check_store_name, store_of

# The name under which people ask for the default store.
DEFAULT_STORE = "default"
NAMED_MAX = 16


class StoreUnknown(StoreUnusable):
    """A key names a store that is not configured. Name the store in meta's configuration."""


class NamedStore(NamedTuple):
    """A store for merged segments, with the name that their keys have."""

    name: str
    location: StoreLocation


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores that one process uses; named ones are sorted by name."""

    default: StoreLocation
    named: tuple[NamedStore, ...] = ()

    def get(self, name: str) -> StoreLocation:
        """Return a store's location, "" = the default store's. Raises StoreUnknown."""
        if not name:
            return self.default
        for store in self.named:
            if store.name == name:
                return store.location
        raise StoreUnknown(
            f"object store {name!r} is not configured: name it in META_OBJECT_STORES"
        )

    def of_key(self, key: str) -> StoreLocation:
        """Return the location of the store that has an object. Raises StoreUnknown."""
        return self.get(store_of(key))

    def names(self) -> Iterator[str]:
        """The names of all stores, "" first."""
        yield ""
        yield from (store.name for store in self.named)


def parse_named_stores(text: str) -> tuple[NamedStore, ...]:
    """Parse `NAME=URL`, several of them with commas; raises ValueError."""
    stores: dict[str, NamedStore] = {}
    for item in filter(None, map(str.strip, text.split(","))):
        name, equals, url = item.partition("=")
        if not equals:
            raise ValueError(f"{item!r} must be NAME=URL")
        if check_store_name(name) == DEFAULT_STORE:
            raise ValueError(f"{DEFAULT_STORE!r} is the store that needs no name")
        if name in stores:
            raise ValueError(f"store {name!r} is named twice")
        stores[name] = NamedStore(name, StoreLocation.from_url(url))
    if len(stores) > NAMED_MAX:
        raise ValueError(f"{len(stores)} stores are named, more than {NAMED_MAX}")
    return tuple(stores[name] for name in sorted(stores))
