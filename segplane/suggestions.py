"""Suggestions for names that do not exist."""

from difflib import get_close_matches

from meta.client import MetaClient
from meta.errors import MetaError, NotFound
from meta.v1 import catalog_pb2
from segplane.lookup import all_datasets

_DATASET_KEYS = ("dataset_name", "dataset")


def with_suggestion(client: MetaClient, error: NotFound) -> NotFound:
    """Name the dataset that was not found and the existing one whose name comes closest."""
    name = next((error.metadata[key] for key in _DATASET_KEYS if key in error.metadata), "")
    if not name:
        return error
    message = f"there is no dataset {name!r}"
    try:
        if _is_view(client, name):
            message += ", it is a view: read it by open_view, option view, or segplane query"
            return NotFound(message, **error.metadata)
        names = [dataset.name for dataset in all_datasets(client)]
    except MetaError:
        # The refusal is what the caller must see, not that it could not be explained.
        return NotFound(message, **error.metadata)
    if closest := get_close_matches(name, names, n=1):
        return NotFound(f"{message}: did you mean {closest[0]!r}?", **error.metadata)
    return NotFound(f"{message}: `segplane datasets list` lists them", **error.metadata)


def _is_view(client: MetaClient, name: str) -> bool:
    try:
        client.catalog.GetView(catalog_pb2.GetViewRequest(name=name))
    except MetaError:
        # There is none, or the caller may not see any.
        return False
    return True
