"""Suggestions for names that do not exist."""

from difflib import get_close_matches

from meta.client import MetaClient
from meta.errors import MetaError, NotFound
from segplane.lookup import all_datasets

_DATASET_KEYS = ("dataset_name", "dataset")


def with_suggestion(client: MetaClient, error: NotFound) -> NotFound:
    """Name the dataset that was not found and the existing one whose name comes closest."""
    name = next((error.metadata[key] for key in _DATASET_KEYS if key in error.metadata), "")
    if not name:
        return error
    message = f"there is no dataset {name!r}"
    try:
        names = [dataset.name for dataset in all_datasets(client)]
    except MetaError:
        # The refusal is what the caller must see, not that it could not be explained.
        return NotFound(message, **error.metadata)
    if closest := get_close_matches(name, names, n=1):
        return NotFound(f"{message}: did you mean {closest[0]!r}?", **error.metadata)
    return NotFound(f"{message}: `segplane datasets list` lists them", **error.metadata)
