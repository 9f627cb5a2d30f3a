"""File systems of pyarrow for the stores that hold the files."""

from __future__ import annotations

import os
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from pyarrow import fs

from segments.keys import join_key
from segments.location import StoreLocation
from segments.store.credentials import ca_file, keys_of
from segplane.read.errors import ReadError
from segplane.read.files.files import DatasetFile

DEFAULT_REGION = "us-east-1"
_OTHERS: dict[str, fs.FileSystem] = {}


def provide(provider: str, system: fs.FileSystem) -> None:
    """Read the files of stores of a kind through this file system, in the whole process."""
    _OTHERS[provider] = system


def path_of(file: DatasetFile) -> str:
    """Return a file's path in its file system."""
    store = file.store
    if store.provider == "file":
        return "/" + join_key(store.path, file.key)
    return join_key(store.bucket, store.path, file.key)


@cache
def checked_parquet() -> Any:
    """Return Parquet as Arrow reads it with a comparison of each page's checksum."""
    # The import takes pandas and much of a second, where it is installed.
    import pyarrow.dataset as ds

    options = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    return ds.ParquetFileFormat(default_fragment_scan_options=options)


def fragment_of(file: DatasetFile, **options: Any) -> Any:
    """Return a file, or some row groups of it, as Arrow scans it."""
    return checked_parquet().make_fragment(
        path_of(file), filesystem(file.store), file_size=file.size_bytes, **options
    )


@cache
def filesystem(store: StoreLocation) -> fs.FileSystem:
    """Open a store with the credentials that its cloud's tools would use; raises ReadError."""
    if store.provider in _OTHERS:
        return _OTHERS[store.provider]
    if store.provider not in _OPENERS:
        raise ReadError(f"the objects are in a store of kind {store.provider!r}: upgrade segplane")
    return _OPENERS[store.provider](store)


def _local(_: StoreLocation) -> fs.FileSystem:
    return fs.LocalFileSystem()


def _s3(store: StoreLocation) -> fs.FileSystem:
    region = store.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    keys = keys_of(store)
    options: dict[str, Any] = {"region": region or DEFAULT_REGION}
    if keys.access_key_id:
        options["access_key"] = keys.access_key_id
        options["secret_key"] = keys.secret_access_key
        options["session_token"] = keys.session_token
    if trusted := ca_file() or os.environ.get("AWS_CA_BUNDLE"):
        options["tls_ca_file_path"] = trusted
    if store.endpoint:
        endpoint = urlsplit(store.endpoint)
        options["scheme"] = endpoint.scheme
        options["endpoint_override"] = endpoint.netloc + endpoint.path
    return fs.S3FileSystem(**options)


def _by_client(store: StoreLocation) -> fs.FileSystem:
    """Read by the clients that the processes use, with their credentials and repetitions."""
    from segplane.read.files.store_files import StoreFiles

    return fs.PyFileSystem(StoreFiles(store))


_OPENERS = {"file": _local, "s3": _s3, "gcs": _by_client, "azure": _by_client}
