"""Lifecycle rules of buckets: those that delete or archive our objects, or end versions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from segments.store.requests import BucketRules

# Classes whose objects cannot be read before they are restored.
_ARCHIVES = {"GLACIER", "DEEP_ARCHIVE"}
_OF_VERSIONS = {"numNewerVersions", "daysSinceNoncurrentTime", "noncurrentTimeBefore"}
# Our prefixes at the root of a bucket.
_ROOTS = ("ingest-stream/", "dataset/", "iceberg/", "quarantine/", "witness/", "probe/")


def harm_of_s3_rule(rule: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield a sentence for each harm that a rule of S3's form does to the objects below a path."""
    filter_ = rule.get("Filter") or {}
    both = filter_.get("And", {})
    prefix = rule.get("Prefix") or filter_.get("Prefix") or both.get("Prefix", "")
    if rule.get("Status") != "Enabled" or not concerns(prefix, path):
        return
    if "Tag" in filter_ or both.get("Tags"):
        # Our objects have no tags.
        return
    name = f"rule {rule.get('ID', '')!r} (prefix {prefix!r})"
    expiration = rule.get("Expiration", {})
    if "Days" in expiration or "Date" in expiration:
        yield f"{name} deletes objects by their age"
    for transition in rule.get("Transitions", ()):
        archive = transition.get("StorageClass")
        if archive in _ARCHIVES:
            yield f"{name} moves objects to {archive}, where no reader reads them"


def ends_versions(rule: Mapping[str, Any], path: str) -> bool:
    """True if a rule of S3's form ends the versions of objects below a path."""
    filter_ = rule.get("Filter") or {}
    prefix = rule.get("Prefix") or filter_.get("Prefix") or ""
    is_of_all = concerns(prefix, path) and "And" not in filter_ and "Tag" not in filter_
    return rule.get("Status") == "Enabled" and is_of_all and "NoncurrentVersionExpiration" in rule


def gcs_rules(is_versioned: bool, deleting: Sequence[Mapping[str, Any]], path: str) -> BucketRules:
    """Judge the conditions of a bucket's deleting rules, in the form of Google's."""
    ours = [
        condition
        for condition in deleting
        if not (prefixes := condition.get("matchesPrefix"))
        or any(concerns(prefix, path) for prefix in prefixes)
    ]
    # A condition about versions alone spares live objects.
    ended = [c for c in ours if _OF_VERSIONS & set(c) or c.get("isLive") is False]
    harmful = tuple(
        f"a lifecycle rule deletes objects with {dict(condition)}"
        for condition in ours
        if condition not in ended
    )
    return BucketRules(is_versioned, bool(ended), harmful)


def concerns(prefix: str, path: str) -> bool:
    """True if a rule for a prefix concerns objects below a path."""
    base = f"{path}/" if path else ""
    if prefix and not base:
        return any(root.startswith(prefix) or prefix.startswith(root) for root in _ROOTS)
    return base.startswith(prefix) or prefix.startswith(base)
