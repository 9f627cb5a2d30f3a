"""Opens an object store by its location."""

from functools import cache

from segments.errors import StoreUnusable
from segments.location import StoreLocation
from segments.store.interface import ObjectStore


@cache
def open_store(location: StoreLocation) -> ObjectStore:
    """Open a store without contacting it; one object per location and process."""
    # Each kind is imported when asked for: a folder needs no boto3.
    if location.provider == "file":
        from segments.store.folder import FolderStore

        return FolderStore(location)
    if location.provider == "s3":
        from segments.store.s3.store import S3Store

        return S3Store(location)
    raise StoreUnusable(f"object store provider is {location.provider!r}, expected file or s3")
