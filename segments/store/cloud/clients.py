"""The client of each cloud: one per process, location and timeouts."""

import functools
import os

from segments.errors import StoreUnusable
from segments.location import StoreLocation
from segments.store.cloud.requests import CloudRequests
from segments.store.timeouts import RequestTimeouts


def requests_of(location: StoreLocation, timeouts: RequestTimeouts) -> CloudRequests:
    """Give this process's client; raises StoreUnusable without its library or credentials."""
    # Looked up per call and process: a fork or a pickle must not carry connections along.
    return _requests(os.getpid(), location, timeouts)


@functools.cache
def _requests(
    _process_id: int, location: StoreLocation, timeouts: RequestTimeouts
) -> CloudRequests:
    try:
        if location.provider == "gcs":
            from segments.store.cloud.gcs import GcsRequests

            return GcsRequests(location, timeouts)
        from segments.store.cloud.azure import AzureRequests

        return AzureRequests(location, timeouts)
    except ImportError as error:
        raise StoreUnusable(
            f"{location.url()} needs a package that is not installed ({error.name}): "
            f'pip install "segplane[{location.provider}]"'
        ) from error
