"""The datasets that the caller may see: a caller limited to some does not find the others."""

from uuid import UUID

from meta import access
from meta.errors import NotFound


def visible_ids() -> list[UUID] | None:
    """Ids of the visible datasets, some of which may be deleted; None = all are visible."""
    ids = access.current.get().dataset_ids
    return None if ids is None else sorted(ids)


def is_visible(dataset_id: UUID) -> bool:
    """True if the caller may see a dataset."""
    ids = access.current.get().dataset_ids
    return ids is None or dataset_id in ids


def require(dataset_id: UUID) -> None:
    """Raise NotFound, as for a dataset that does not exist, unless the caller may see it."""
    if not is_visible(dataset_id):
        raise NotFound("there is no such dataset", dataset_id=dataset_id)
