"""The table of findings, against the protocol, the record of the decision, and sizes."""

import re
from pathlib import Path

import pytest

from meta.v1 import operations_pb2 as pb
from segments.inventory.findings import FINDINGS, Finding, difference
from segments.keys import baby_key, merged_prefix

RECORD = Path(__file__).parents[3] / "docs/adr/0033-one-inventory-of-the-bucket.md"
ID = "01a20108-991a-792f-8c91-6c2206629ea5"
SEGMENT, BABY = f"{merged_prefix(ID)}{ID}.parquet", baby_key(ID, 4)


def test_the_table_has_each_kind_of_the_protocol() -> None:
    names = {name.removeprefix("FINDING_KIND_") for name in pb.FindingKind.keys()}  # noqa: SIM118

    assert set(FINDINGS) == names - {"UNSPECIFIED"}


def test_the_record_of_the_decision_names_each_kind() -> None:
    named = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)*)`", RECORD.read_text()))

    assert set(FINDINGS) <= named


def test_a_finding_without_an_invariant_is_of_an_object_without_a_row() -> None:
    violations = {kind for kind, rule in FINDINGS.items() if rule.invariant}

    others = {"OBJECT_UNREGISTERED", "OBJECT_UNKNOWN"}
    assert set(FINDINGS) - violations == others
    # No repair of an object of which nothing is known, nor of one that is missing.
    assert not FINDINGS["OBJECT_UNKNOWN"].repair
    assert not any(FINDINGS[kind].repair for kind in violations if FINDINGS[kind].invariant == "I9")


@pytest.mark.parametrize(
    ("key", "registered", "listed", "kind"),
    [
        (SEGMENT, 5, 5, None),
        (SEGMENT, 5, 4, "SIZE_MISMATCH"),
        (SEGMENT, 5, 0, "SIZE_MISMATCH"),
        (SEGMENT, 5, None, "OBJECT_MISSING"),
        (BABY, 5, 6, "SIZE_MISMATCH"),
        (BABY, 5, None, "BABY_MISSING"),
        (BABY, 0, None, "BABY_MISSING"),
        (BABY, 0, 6, None),
    ],
)
def test_an_object_differs_if_it_is_missing_or_of_another_size(
    key: str, registered: int, listed: int | None, kind: str | None
) -> None:
    finding = difference(key, ID, registered, listed)

    assert (finding.kind if finding else None) == kind
    if finding:
        assert finding == Finding(finding.kind, finding.message, key, ID)
