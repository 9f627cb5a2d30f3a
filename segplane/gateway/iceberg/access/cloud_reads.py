"""Signed reads of a table's objects, and their URLs on clouds that have no protocol of S3."""

import re
import time
from collections.abc import Callable
from typing import Any

from segments.errors import ObjectMissing
from segments.keys import AttemptKey, MergedKey, TableKey, parse_key
from segments.location import StoreLocation
from segments.store.cloud import signing
from segments.store.cloud.signature import CannotSign
from segments.store.open import open_store
from segplane.gateway.http.recent_values import RecentValues
from segplane.gateway.iceberg.refusals import AccessRefused, ObjectGone, OtherTable, RequestRefused

# Far below any grace: an object that is deleted has not been handed out for one.
KNOWN_SECS = 60.0
KNOWN_MAX = 10_000
_VERSION = re.compile(r".*/(?:snapshot-|v)([0-9]+)\.(?:avro|metadata\.json)")
PROVIDERS = ("gcs", "azure")
find_key = signing.find_key
_OF_A_TABLE = (AttemptKey, MergedKey, TableKey)
_ONLY_READS = "only GET and HEAD of objects of this table are signed"


class PresentObjects:
    """Keys of objects that were there lately; safe for many threads."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._seen_at: RecentValues[str, float] = RecentValues(KNOWN_MAX)

    def check(self, key: str, is_missing: Callable[[], bool]) -> None:
        """Raise ObjectGone for an object that the store has no more."""
        now = self._monotonic()
        seen_at = self._seen_at.find(key)
        if seen_at is not None and now - seen_at < KNOWN_SECS:
            return
        if is_missing():
            raise ObjectGone(sentence(key))
        self._seen_at.keep(key, now)


def sentence(key: str) -> str:
    """Return the remedy for a missing object, with its version if the key has it."""
    match = _VERSION.fullmatch(key)
    which = f"version {match[1]} of this table" if match else "the version of this table"
    return (
        f"{which} that is read has expired, and its objects are deleted: load the table again, and"
        " pin a version (PinVersion) for longer reads"
    )


def check_key(object_key: str, dataset_id: str) -> None:
    """Raise AccessRefused unless a key is of a table, and OtherTable if it is of another one."""
    key = parse_key(object_key)
    if not isinstance(key, _OF_A_TABLE):
        raise AccessRefused(f"{_ONLY_READS}, without a query: its segments and its metadata")
    if key.dataset_id != dataset_id:
        raise OtherTable(
            f"{_ONLY_READS}, and this one is of another dataset: if the table was deleted and"
            " created again, load the table again"
        )


def sign(
    location: StoreLocation, present: PresentObjects, body: dict[str, Any], dataset_id: str
) -> dict[str, Any]:
    """Return the URL by which a caller reads one of a table's objects, without headers.

    Raises AccessRefused, OtherTable, RequestRefused, ObjectGone, StoreError.
    """
    method, url = body.get("method"), body.get("uri")
    if not isinstance(method, str) or not isinstance(url, str):
        raise RequestRefused("method and uri must be text")
    object_key = find_key(location, method, url) or ""
    check_key(object_key, dataset_id)
    present.check(object_key, lambda: _is_missing(location, object_key))
    try:
        return {"uri": signing.signed_url(location, object_key, method), "headers": {}}
    except CannotSign as error:
        raise AccessRefused(f"this gateway cannot sign reads of the store: {error}") from error


def _is_missing(location: StoreLocation, object_key: str) -> bool:
    try:
        open_store(location).head(object_key)
    except ObjectMissing:
        return True
    return False
