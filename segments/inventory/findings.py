"""The table of findings: what a comparison of objects with rows, or of rows alone, may show.

A finding says what was seen, and grants nothing. A table of
docs/adr/0033-one-inventory-of-the-bucket.md has the conclusions and remedies of each caller.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from segments.keys import BABIES_ROOT


@dataclass(frozen=True, slots=True)
class Rule:
    """The invariant that a finding violates, and the repair that needs no judgement.

    Without an invariant it is not a violation; `is_by_meta` means that RepairCatalog repairs it.
    """

    invariant: str = ""
    repair: str = ""
    is_by_meta: bool = False


# The kinds of the protocol, without its prefix.
FINDINGS: Mapping[str, Rule] = {
    # Between rows and the listing.
    "OBJECT_MISSING": Rule("I9"),
    "BABY_MISSING": Rule("I9"),
    "SIZE_MISMATCH": Rule("I9"),
    "OBJECT_UNREGISTERED": Rule(repair="condemn the object, then delete it"),
    "OBJECT_UNKNOWN": Rule(),
    # Between rows, or found by a read.
    "OBJECT_DAMAGED": Rule("I9"),
    "OFFSET_ORDER": Rule("I8"),
    "OFFSET_CHAIN": Rule("I7"),
    "TASK_INPUT_DEAD": Rule("I11", "cancel the task", is_by_meta=True),
    "SEGMENT_IDENTITY": Rule("I6"),
    "STATS": Rule("I20", "store the recount", is_by_meta=True),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding; its kind is one of FINDINGS.

    The subject is a segment, stream, task or dataset, "" if the object itself is it.
    """

    kind: str
    message: str
    object_key: str = ""
    subject_id: str = ""


def difference(
    object_key: str, subject_id: str, size_bytes: int, listed_bytes: int | None
) -> Finding | None:
    """Compare an object's listed size with the registered one; None is an object that is missing.

    A commit by MarkStreamStopped does not know the size of the stop message, and registers 0.
    """
    if listed_bytes is None:
        is_baby = object_key.startswith(BABIES_ROOT)
        kind = "BABY_MISSING" if is_baby else "OBJECT_MISSING"
        message = f"an object of {size_bytes} bytes is not in the listing"
    elif size_bytes and listed_bytes != size_bytes:
        kind = "SIZE_MISMATCH"
        message = f"the object has {listed_bytes} bytes, {size_bytes} are registered"
    else:
        return None
    return Finding(kind, message, object_key, subject_id)
