"""Datasets of a group with segments of their own."""

from pathlib import Path

from meta.client import MetaClient
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.groups import create_group


def grouped(client: MetaClient, folder: Path, group: str, **rows: int) -> dict[str, SegmentWriter]:
    """Create a group with datasets of so many records; returns their writers by name."""
    create_group(client, group)
    writers = {}
    for name, number in rows.items():
        dataset = CatalogDriver(client).dataset(f"{group}/{name}")
        writers[name] = SegmentWriter(client, dataset, folder)
        if number:
            writers[name].write(rows=number)
    return writers
