"""SegmentLookupService, changes of a dataset, and babies that a version does not show."""

from meta.services.lookup.changes import list_dataset_changes, watch_dataset
from meta.services.lookup.unmerged_babies import list_unmerged_babies
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "ListDatasetChanges": list_dataset_changes,
    "WatchDataset": watch_dataset,
    "ListUnmergedBabies": list_unmerged_babies,
}
