"""Links whose columns are determined again, because what they read has changed."""

from collections.abc import Sequence
from uuid import UUID

from meta.errors import InvalidArgument, StillReferenced
from meta.services.catalog import projection_types
from meta.store.catalog import link_columns, links
from meta.store.catalog.link_columns import TypedLink
from meta.store.engine.pool import Transaction

# Each is checked again.
LINKS_MAX = 1_000


def follow_text(tx: Transaction, projection_id: UUID) -> None:
    """Check the links through a projection with its new text. Raises InvalidArgument."""
    used = links.list_of_projection(tx, projection_id, LINKS_MAX + 1)
    if len(used) > LINKS_MAX:
        raise StillReferenced(
            f"more than {LINKS_MAX} links use the projection: create another one for the new text",
            blockers=f"{LINKS_MAX} links",
        )
    _retype(tx, used)


def follow_names(tx: Transaction, dataset_ids: Sequence[UUID]) -> None:
    """Check the links of datasets whose columns have other names. Raises StillReferenced."""
    used = links.list_typed(tx, dataset_ids, LINKS_MAX + 1)
    if len(used) > LINKS_MAX:
        raise StillReferenced(
            f"more than {LINKS_MAX} links read the datasets of the schema",
            blockers=f"{LINKS_MAX} links",
        )
    _retype(tx, used)


def _retype(tx: Transaction, used: Sequence[tuple[UUID, links.Link]]) -> None:
    # Views often link a projection to the same dataset; its lock keeps the answer valid.
    typed_links: dict[tuple[UUID, links.Ends], TypedLink] = {}
    for link_id, link in used:
        ends = links.lock_ends(tx, link)
        key = (link.dataset_id, ends)
        try:
            if key not in typed_links:
                typed_links[key] = projection_types.typed_link(
                    tx, ends.text, link.dataset_id, ends.schema_ids
                )
        except InvalidArgument as refusal:
            raise InvalidArgument(
                refusal.message,
                field="projection",
                dataset_id=link.dataset_id,
                view_id=link.view_id,
            ) from None
        link_columns.replace(tx, link_id, typed_links[key])
