"""URLs of other clouds by which a caller without credentials reads one object for a short time."""

import functools
import os
from urllib.parse import unquote

from segments.errors import StoreUnusable
from segments.location import StoreLocation
from segments.store.cloud.signature import ReadSigner

METHODS = ("GET", "HEAD")
_GOOGLE = "https://storage.googleapis.com"


def find_key(location: StoreLocation, method: str, url: str) -> str | None:
    """Return the key, relative to the store's base path, of the object that a request reads.

    The URL is that of the table's metadata, such as gs://bucket/key, or the store's own. None for
    another store, another method, and anything that a query asks for.
    """
    if method not in METHODS or any(mark in url for mark in "?#"):
        return None
    if url.startswith(f"{location.root}/"):
        return url.removeprefix(f"{location.root}/")
    path = f"/{location.path}" if location.path else ""
    base = f"{location.endpoint or _GOOGLE}/{location.bucket}{path}/"
    return unquote(url).removeprefix(base) if unquote(url).startswith(base) else None


def signed_url(location: StoreLocation, key: str, method: str) -> str:
    """Return the URL by which anybody reads an object for 15 minutes.

    Raises CannotSign, StoreUnavailable, StoreUnusable.
    """
    name = f"{location.path}/{key}" if location.path else key
    return _signer(os.getpid(), location).sign(name, method)


@functools.cache
def _signer(_process_id: int, location: StoreLocation) -> ReadSigner:
    try:
        if location.provider == "gcs":
            from segments.store.cloud.gcs_signing import GcsSigner

            return GcsSigner(location)
        from segments.store.cloud.azure_signing import AzureSigner

        return AzureSigner(location)
    except ImportError as error:
        raise StoreUnusable(
            f"{location.url()} needs a package that is not installed ({error.name}): "
            f'pip install "segplane[{location.provider}]"'
        ) from error
