"""Stores of a deployment: the default one, and named ones for the segments of some datasets.

A store is a folder or bucket. The key of an object names its store (`segments.keys.store_of`), so a
key alone locates its object, and the keys of all stores are one namespace.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlencode, urlsplit

from segments.errors import StoreUnusable
from segments.keys import check_store_name, has_control_characters, join_key, store_of

# The name under which people ask for the default store.
DEFAULT_STORE = "default"
NAMED_MAX = 16


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """A folder or bucket: the same five fields as the contract's CloudBucket.

    provider is "file", "s3", "gcs" or "azure". A folder has only a path, absolute without its
    leading slash; a container of Azure always has the endpoint of its account.
    """

    provider: str
    endpoint: str
    bucket: str
    region: str
    path: str

    @classmethod
    def from_url(cls, url: str) -> "StoreLocation":
        """Parse `file:///dir` or `s3://bucket/path?endpoint=...&region=...`; raises ValueError.

        `gs://bucket/path` and `az://container/path?account=NAME` are the other clouds.
        """
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise ValueError(f"object store URL {url!r} cannot be parsed: {error}") from error
        if parts.fragment or parts.username or parts.password:
            # The URL is not quoted, because it may hold a secret.
            raise ValueError("the object store URL must hold no fragment and no credentials")
        path = unquote(parts.path).strip("/")
        if parts.scheme == "file":
            return _folder_location(url, parts.netloc, path, parts.query)
        if parts.scheme in _CLOUDS:
            return _cloud_location(url, _CLOUDS[parts.scheme], parts, path)
        raise ValueError(
            f"object store URL {url!r} must start with file:/// (a folder), s3://, gs:// or az://"
        )

    @property
    def root(self) -> str:
        """The URL of the base path as query engines write it: not quoted, no slash at its end."""
        if self.provider == "file":
            return f"file:///{self.path}"
        if account := _account_of(self.endpoint) if self.provider == "azure" else "":
            base = f"abfss://{self.bucket}@{account}.dfs.core.windows.net"
        else:
            base = f"{_scheme_of(self.provider)}://{self.bucket}"
        return f"{base}/{self.path}" if self.path else base

    def url(self) -> str:
        """The URL that `from_url` parses back to this location."""
        if self.provider == "file":
            return "file:///" + quote(self.path)
        options = {"endpoint": self.endpoint, "region": self.region}
        if account := _account_of(self.endpoint) if self.provider == "azure" else "":
            options = {"account": account}
        query = urlencode({name: value for name, value in options.items() if value})
        path = "/" + quote(self.path) if self.path else ""
        scheme = _scheme_of(self.provider)
        return f"{scheme}://{self.bucket}{path}" + (f"?{query}" if query else "")


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
    named_stores: tuple[NamedStore, ...] = ()

    def get(self, name: str) -> StoreLocation:
        """Return a store's location, "" = the default store's. Raises StoreUnknown."""
        if not name:
            return self.default
        for store in self.named_stores:
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
        yield from (store.name for store in self.named_stores)


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


@dataclass(frozen=True, slots=True)
class _Cloud:
    """The form of URLs of a provider's buckets."""

    scheme: str
    provider: str
    bucket: str
    options: tuple[str, ...]


_CLOUDS = {
    cloud.scheme: cloud
    for cloud in (
        _Cloud("s3", "s3", "bucket", ("endpoint", "region")),
        _Cloud("gs", "gcs", "bucket", ("endpoint",)),
        _Cloud("az", "azure", "container", ("account", "endpoint")),
    )
}
_AZURE_HOST = ".blob.core.windows.net"


def _scheme_of(provider: str) -> str:
    """The scheme of a provider's URLs; one that is not known yet keeps its name."""
    schemes = {cloud.provider: cloud.scheme for cloud in _CLOUDS.values()}
    return schemes.get(provider, provider)


def _folder_location(url: str, host: str, path: str, query: str) -> StoreLocation:
    if host or not path or query:
        raise ValueError(f"object store URL {url!r} must name an absolute folder: file:///dir")
    if any(part in ("", ".", "..") for part in path.split("/")) or has_control_characters(path):
        raise ValueError(f"object store URL {url!r} must name a folder without '.' and '..'")
    return StoreLocation(provider="file", endpoint="", bucket="", region="", path=path)


def _cloud_location(url: str, cloud: _Cloud, parts: SplitResult, path: str) -> StoreLocation:
    query = parts.query
    options = parse_qs(query, keep_blank_values=True, strict_parsing=bool(query))
    unknown = set(options) - set(cloud.options)
    if not parts.netloc or unknown or any(len(values) > 1 for values in options.values()):
        raise ValueError(
            f"object store URL {url!r} must be {cloud.scheme}://{cloud.bucket}/path with at most "
            f"the options {' and '.join(cloud.options)}"
        )
    given = {name: values[0] for name, values in options.items()}
    endpoint = given.get("endpoint", "").rstrip("/")
    if endpoint and not re.fullmatch(r"https?://[^/?#@\s]+(/[^?#\s]*)?", endpoint):
        raise ValueError("the object store's endpoint must be http://host or https://host")
    if cloud.provider == "azure":
        endpoint = _azure_endpoint(url, given.get("account", ""), endpoint)
    if path:
        join_key(path)
    return StoreLocation(cloud.provider, endpoint, parts.netloc, given.get("region", ""), path)


def _azure_endpoint(url: str, account: str, endpoint: str) -> str:
    if bool(account) == bool(endpoint):
        raise ValueError(
            f"object store URL {url!r} must have one of the options account and endpoint"
        )
    if account and not re.fullmatch(r"[a-z0-9]{3,24}", account):
        raise ValueError("the account must be 3 to 24 lower-case letters and digits")
    return endpoint or f"https://{account}{_AZURE_HOST}"


def _account_of(endpoint: str) -> str:
    """The account whose usual endpoint this is, or nothing."""
    account = endpoint.removeprefix("https://").removesuffix(_AZURE_HOST)
    return account if endpoint == f"https://{account}{_AZURE_HOST}" else ""
