"""Signed reads of a table's objects, and their URLs on clouds that have no protocol of S3."""

from typing import Any

from segments.errors import ObjectMissing
from segments.keys import AttemptKey, MergedKey, TableKey, parse_key
from segments.location import StoreLocation
from segments.store.cloud import signing
from segments.store.cloud.signature import CannotSign
from segments.store.open import open_store
from segplane.gateway.iceberg.access.present_objects import PresentObjects
from segplane.gateway.iceberg.refusals import AccessRefused, OtherTable, RequestRefused

PROVIDERS = ("gcs", "azure")
find_key = signing.find_key
_OF_A_TABLE = (AttemptKey, MergedKey, TableKey)
_ONLY_READS = "only GET and HEAD of objects of this table are signed"


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
