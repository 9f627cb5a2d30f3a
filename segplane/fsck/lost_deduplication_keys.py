"""Datasets whose segments say that each event was a row once, and that have no such setting now.

A rebuilt catalog has neither the setting nor the deduplication keys that were claimed.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from meta.client import MetaClient
from meta.errors import NotFound
from meta.v1 import catalog_pb2
from segplane.read.lookup import settings_at


@dataclass(frozen=True, slots=True)
class LostDeduplicationKeys:
    """A dataset without the setting, and the column that its segments name."""

    dataset_id: str
    name: str
    column: str

    def line(self) -> str:
        """One line for a person, with what to do."""
        return once_again(self.dataset_id, self.name, self.column)


def once_again(dataset_id: str, name: str, column: str) -> str:
    """Say that a dataset is no longer deduplicated, and how it is again."""
    return (
        f"dataset {dataset_id} was deduplicated by column {column}. The setting is off, so a record"
        " that is sent again is a second row. Before nurseries start: bind it to a schema with"
        f" {column} (`segplane datasets columns {name} --schema SCHEMA`), then `segplane datasets"
        f" deduplication {name} --deduplicate-by {column} --deduplicate-days N` and `segplane"
        f" datasets deduplication --claim-keys {name}`"
    )


def find_lost(
    client: MetaClient, deduplication_keys: Iterable[tuple[str, str]]
) -> list[LostDeduplicationKeys]:
    """Find the datasets without the setting among some with their columns. Raises MetaError."""
    lost: list[LostDeduplicationKeys] = []
    for dataset_id, column in deduplication_keys:
        try:
            settings = settings_at(client, dataset_id, None)
            name = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=dataset_id)).name
        except NotFound:
            # It was deleted meanwhile.
            continue
        if not settings.HasField("deduplication"):
            lost.append(LostDeduplicationKeys(dataset_id, name, column))
    return lost
