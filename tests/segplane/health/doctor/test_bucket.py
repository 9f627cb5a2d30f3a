"""Checks of a bucket: rights, clock, and rules that would destroy data."""

import dataclasses
import time
from pathlib import Path
from typing import Any

import boto3
import pytest

from segments.location import StoreLocation, Stores
from segments.store.lifecycle import gcs_rules, harm_of_s3_rule
from segplane.health.doctor import bucket
from segplane.health.doctor.verdicts import CheckResult, CheckVerdict


def examined(location: StoreLocation) -> dict[str, CheckResult]:
    return {check.name: check for check in bucket.examine(Stores(location), time.time_ns())}


def _rule(**fields: Any) -> dict[str, Any]:
    return {"ID": "old", "Status": "Enabled", "Filter": {"Prefix": ""}, **fields}


EXPIRES = {"Expiration": {"Days": 30}}


@pytest.mark.parametrize(
    ("rule", "path", "harms"),
    [
        (_rule(**EXPIRES), "", 1),
        (_rule(**EXPIRES, Filter={"Prefix": "segments/"}), "segments", 1),
        (_rule(**EXPIRES, Filter={"Prefix": "segments/dataset/"}), "segments", 1),
        (_rule(**EXPIRES, Filter={"And": {"Prefix": "seg", "Tags": []}}), "segments", 1),
        (_rule(**EXPIRES, Filter={"Prefix": "logs/"}), "segments", 0),
        (_rule(**EXPIRES, Filter={"Prefix": "backups/"}), "", 0),
        (_rule(**EXPIRES, Filter={"Prefix": "dataset/0197"}), "", 1),
        (_rule(**EXPIRES, Filter={"Tag": {"Key": "temporary", "Value": "1"}}), "", 0),
        (_rule(**EXPIRES, Filter={"Prefix": "segments-of-others/"}), "segments", 0),
        (_rule(**EXPIRES, Status="Disabled"), "", 0),
        (_rule(Expiration={"ExpiredObjectDeleteMarker": True}), "", 0),
        (_rule(NoncurrentVersionExpiration={"NoncurrentDays": 7}), "", 0),
        (_rule(AbortIncompleteMultipartUpload={"DaysAfterInitiation": 1}), "", 0),
        (_rule(Transitions=[{"Days": 30, "StorageClass": "GLACIER"}]), "", 1),
        (_rule(Transitions=[{"Days": 30, "StorageClass": "STANDARD_IA"}]), "", 0),
    ],
)
def test_a_rule_harms_if_it_deletes_or_archives_our_objects(
    rule: dict[str, Any], path: str, harms: int
) -> None:
    assert len(list(harm_of_s3_rule(rule, path))) == harms


def test_the_rules_of_a_bucket_are_read(s3_location: StoreLocation) -> None:
    client: Any = boto3.client("s3", endpoint_url=s3_location.endpoint, region_name="us-east-1")
    name = f"rules-{time.time_ns()}"
    client.create_bucket(Bucket=name)
    location = dataclasses.replace(s3_location, bucket=name, path="segments")

    assert {check.verdict for check in examined(location).values()} == {CheckVerdict.OK}

    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    versioned = examined(location)["rules"]
    assert (versioned.verdict, "for ever" in versioned.text) == (CheckVerdict.WARNING, True)

    ends = _rule(NoncurrentVersionExpiration={"NoncurrentDays": 40})
    client.put_bucket_lifecycle_configuration(Bucket=name, LifecycleConfiguration={"Rules": [ends]})
    assert examined(location)["rules"].verdict is CheckVerdict.OK

    both = {"Rules": [ends, _rule(**EXPIRES, ID="deletes all")]}
    client.put_bucket_lifecycle_configuration(Bucket=name, LifecycleConfiguration=both)
    harmful = examined(location)["rules"]
    assert harmful.verdict is CheckVerdict.NEEDS
    assert "'deletes all'" in harmful.text


@pytest.mark.parametrize(
    ("condition", "harms", "ends"),
    [
        ({"age": 30}, 1, False),
        ({"age": 30, "isLive": False}, 0, True),
        ({"daysSinceNoncurrentTime": 30}, 0, True),
        ({"noncurrentTimeBefore": "2026-01-01"}, 0, True),
        ({"numNewerVersions": 1}, 0, True),
        ({"age": 30, "matchesPrefix": ["other/"]}, 0, False),
        ({"age": 30, "matchesPrefix": ["other/", "segments/dataset/"]}, 1, False),
    ],
)
def test_a_rule_of_google_harms_if_it_deletes_live_objects(
    condition: dict[str, Any], harms: int, ends: bool
) -> None:
    rules = gcs_rules(True, [condition], "segments")

    assert (len(rules.harmful), rules.ends_versions) == (harms, ends)


def test_a_bucket_that_is_not_there_needs_a_person(s3_location: StoreLocation) -> None:
    (check,) = examined(dataclasses.replace(s3_location, bucket="nothing-here")).values()

    assert check.verdict is CheckVerdict.NEEDS
    assert check.next_step


def test_a_folder_that_is_not_mounted_is_unknown_and_not_created(tmp_path: Path) -> None:
    (check,) = examined(StoreLocation.from_url(f"file://{tmp_path}/disk/objects")).values()

    assert check.verdict is CheckVerdict.UNKNOWN
    assert not (tmp_path / "disk").exists()


def test_a_folder_has_no_rules(tmp_path: Path) -> None:
    checks = examined(StoreLocation.from_url(f"file://{tmp_path}"))

    assert {name: check.verdict for name, check in checks.items()} == dict.fromkeys(
        ("writes", "latency", "clock", "rules"), CheckVerdict.OK
    )
