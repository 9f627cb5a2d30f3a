"""Rules of a bucket that delete or archive objects without us: versioning and lifecycle.

Azure shows the rules of a storage account only to those who manage it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from segments.errors import StoreUnusable
from segments.location import StoreLocation
from segments.store.lifecycle import ends_versions, harm_of_s3_rule
from segments.store.requests import BucketRules
from segments.store.timeouts import RequestTimeouts

_NO_RULES = "NoSuchLifecycleConfiguration"


def read_rules(location: StoreLocation, timeouts: RequestTimeouts) -> BucketRules:
    """Read the rules that concern a location. Raises StoreError if they are not shown."""
    match location.provider:
        case "file":
            return BucketRules(is_versioned=False)
        case "s3":
            return _of_s3(location, timeouts)
        case "gcs":
            return _of_gcs(location, timeouts)
    raise StoreUnusable("Azure shows the rules of a storage account only to those who manage it")


def _of_s3(location: StoreLocation, timeouts: RequestTimeouts) -> BucketRules:
    from segments.store.s3.errors import FAILURES, code_of, refused
    from segments.store.s3.requests import client_of

    client = client_of(location, timeouts)
    try:
        versioning = client.get_bucket_versioning(Bucket=location.bucket)
        try:
            reply = client.get_bucket_lifecycle_configuration(Bucket=location.bucket)
            rules: Sequence[Mapping[str, Any]] = reply["Rules"]
        except FAILURES as error:
            if code_of(error) != _NO_RULES:
                raise
            rules = ()
    except FAILURES as error:
        raise refused(error, location) from error
    harmful = [text for rule in rules for text in harm_of_s3_rule(rule, location.path)]
    return BucketRules(
        versioning.get("Status") == "Enabled",
        any(ends_versions(rule, location.path) for rule in rules),
        tuple(harmful),
    )


def _of_gcs(location: StoreLocation, timeouts: RequestTimeouts) -> BucketRules:
    from segments.store.cloud.gcs import GcsRequests

    return GcsRequests(location, timeouts).rules()
