"""CatalogService, and the calls about settings of datasets."""

from meta.services.catalog.dataset_settings import (
    get_dataset_settings,
    set_dataset_settings,
    undelete_dataset,
)
from meta.services.catalog.datasets import rename_dataset
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "UndeleteDataset": undelete_dataset,
    "RenameDataset": rename_dataset,
    "SetDatasetSettings": set_dataset_settings,
    "GetDatasetSettings": get_dataset_settings,
}
