"""Suggestions for names that do not exist."""

from collections.abc import Sequence
from difflib import get_close_matches

from meta.errors import NotFound

_DATASET_KEYS = ("dataset_name", "dataset")


def missing_dataset(error: NotFound) -> str:
    """The name of the dataset that a refusal is about; "" if it is about something else.

    Or if the refusal says the name that a dataset has now.
    """
    if "renamed_to" in error.metadata:
        return ""
    return next((error.metadata[key] for key in _DATASET_KEYS if key in error.metadata), "")


def no_such_dataset(name: str) -> str:
    """The sentence for a dataset that does not exist."""
    return f"there is no dataset {name!r}"


def it_is_a_view(name: str) -> str:
    """The sentence for a view that was asked for as a dataset."""
    return (
        f"{no_such_dataset(name)}, it is a view: read it by open_view, option view, or segplane"
        " query"
    )


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """The sentence for a dataset that does not exist, with the one whose name comes closest."""
    if closest := get_close_matches(name, names, n=1):
        return f"{no_such_dataset(name)}: did you mean {closest[0]!r}?"
    return f"{no_such_dataset(name)}: `segplane datasets list` lists them"
