"""Addresses of searches: the parameters that those of logs, of traces and of queries share."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlencode

from segplane.gateway.http.refusals import QueryRefusal

_ZONES = ("", "utc", "local")


def address_of(path: str, pairs: Iterable[tuple[str, str]]) -> str:
    """Return an address with the parameters that have a value."""
    return f"{path}?{urlencode([pair for pair in pairs if pair[1]], quote_via=quote)}"


def dataset_of(parameters: Mapping[str, str]) -> str:
    """Return the dataset of an address. Raises QueryRefusal."""
    dataset = parameters.get("dataset", "").strip()
    if not dataset:
        raise QueryRefusal("the address names no dataset: choose one")
    return dataset


def zone_of(parameters: Mapping[str, str]) -> str:
    """Return the person's choice of UTC or local time, which scripts read. Raises QueryRefusal."""
    zone = parameters.get("tz", "")
    if zone not in _ZONES:
        raise QueryRefusal(f"tz is {zone[:80]!r}, expected utc or local")
    return zone


def changed_address(page: str) -> QueryRefusal:
    """Return the refusal of an address with a cursor or a key that the console did not make."""
    return QueryRefusal(f"the address of the {page} is cut off or changed: open it from a list")
