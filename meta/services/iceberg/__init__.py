"""Calls about datasets as Iceberg tables."""

from meta.services.iceberg.tables import (
    expire_table_objects,
    get_dataset_table,
    hand_out_table,
    put_table_objects,
    put_table_snapshot,
)
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "GetDatasetTable": get_dataset_table,
    "PutTableObjects": put_table_objects,
    "PutTableSnapshot": put_table_snapshot,
    "HandOutTable": hand_out_table,
    "ExpireTableObjects": expire_table_objects,
}
