"""Calls that compare rows with objects and with one another, and repair."""

from meta.services.checks.consistency import check_consistency
from meta.services.checks.object_checks import (
    get_scrub_state,
    list_damaged_objects,
    list_stored_objects,
    report_object_checks,
)
from meta.services.checks.repairs import repair_catalog
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "CheckConsistency": check_consistency,
    "ListStoredObjects": list_stored_objects,
    "ReportObjectChecks": report_object_checks,
    "ListDamagedObjects": list_damaged_objects,
    "GetScrubState": get_scrub_state,
    "RepairCatalog": repair_catalog,
}
