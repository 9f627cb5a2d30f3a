"""Markers in a bucket, as a rebuild reads them."""

from pathlib import Path

from segments.keys import new_merged_key
from segments.location import StoreLocation
from segments.markers import mark_hidden, mark_replaced, read_markers
from segments.store.open import open_store
from tests.support.inventories import DATASET


def test_an_object_counts_as_replaced_once_the_other_is_there(tmp_path: Path) -> None:
    """Both would be live in a rebuilt catalog, with the same records."""
    store = open_store(StoreLocation.from_url(tmp_path.as_uri()))
    hidden, old, new = (new_merged_key(DATASET) for _ in range(3))
    mark_hidden(store, hidden)
    mark_replaced(store, old, new)

    markers = read_markers(store)

    assert [markers.reason(key, {hidden, old, new}) for key in (hidden, old, new)] == [
        "hidden",
        "replaced",
        "",
    ]
    assert markers.reason(old, {hidden, old}) == ""
