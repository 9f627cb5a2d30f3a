"""Opens an object store by its location."""

from functools import cache

from segments.errors import StoreUnusable
from segments.location import StoreLocation
from segments.store.interface import ObjectStore
from segments.store.timeouts import BRIEF_TIMEOUTS, DEFAULT_TIMEOUTS


@cache
def open_store(location: StoreLocation, *, is_brief: bool = False) -> ObjectStore:
    """Open a store without contacting it; one object per location and process.

    A brief store serves processes with a waiting caller: an unanswered request fails within 15 s,
    not two minutes.
    """
    timeouts = BRIEF_TIMEOUTS if is_brief else DEFAULT_TIMEOUTS
    # Each kind is imported when asked for: a folder needs no boto3.
    if location.provider == "file":
        from segments.store.folder import FolderStore

        return FolderStore(location)
    if location.provider == "s3":
        from segments.store.s3.store import S3Store

        return S3Store(location, timeouts)
    if location.provider in ("gcs", "azure"):
        from segments.store.cloud.store import CloudStore

        return CloudStore(location, timeouts)
    raise StoreUnusable(
        f"object store provider is {location.provider!r}, expected file, s3, gcs or azure"
    )
