"""Records of a dataset at a version, by meta's counts and as a reader of the catalog finds them."""

import json

from pyiceberg.catalog import Catalog

from meta.client import MetaClient
from tests.support.pipeline.reading import find_all
from tests.support.pipeline.sending import ID


def records_at(client: MetaClient, version: int) -> int:
    """Count the records of dataset `web` in its segments at a version."""
    return sum(segment.number_of_events for segment in find_all(client, "web", version))


def sent_ids(catalog: Catalog, version: int) -> list[str]:
    """The sorted ids of the records of senders in dataset `web` at a version."""
    table = catalog.load_table(f"default.web@{version}")
    attributes = table.scan(selected_fields=("attributes",)).to_arrow()["attributes"].to_pylist()
    found = (json.loads(text).get(ID) for text in attributes if text)
    return sorted(one for one in found if one is not None)
