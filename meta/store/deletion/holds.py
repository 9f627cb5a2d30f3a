"""Reasons for which a tombstoned segment `s` of a dataset `d` stays after its grace, in SQL."""

from meta.store.deletion.baselines import UNAPPROVED
from meta.store.versions.clock import NOW

# An operator hid the segment, and may bring it back.
IS_HIDDEN = "s.tombstone_at = 'infinity'"
# The brake `b` of the dataset holds the segment.
IS_BRAKED = f"b.braked_at IS NOT NULL AND d.deleted_at IS NULL AND {UNAPPROVED}"
# A backup keeps the segment.
IS_BACKED_UP = (
    "EXISTS (SELECT FROM backups k"
    " WHERE s.created_version <= k.version AND k.version < s.tombstone_version)"
)


def is_holder(ahead: str = "") -> str:
    """True of a pin `p` that holds the segment; `ahead` is an interval, as in " + x", from now."""
    return (
        f"p.dataset_key = s.dataset_key AND p.expires_at > {NOW}{ahead}"
        " AND p.version < s.tombstone_version"
        " AND (p.holds_changes OR s.created_version <= p.version)"
    )
