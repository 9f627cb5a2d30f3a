"""Authors of catalog entries as messages, for those who keep the catalog."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar
from uuid import UUID

from meta import access
from meta.roles import KEEPERS
from meta.services.messages.filled import filled
from meta.store.access import catalog_authors
from meta.store.access.catalog_authors import Authors
from meta.store.engine.keyset import Page
from meta.store.engine.pool import Transaction
from meta.v1 import common_pb2


class _CatalogEntry(Protocol):
    """An entry of the catalog."""

    @property
    def id(self) -> UUID: ...


Entry = TypeVar("Entry", bound=_CatalogEntry)


def read(tx: Transaction, entry_ids: Sequence[UUID]) -> Mapping[UUID, common_pb2.Authors]:
    """The authors of entries by id; none for readers, who must not learn who works here."""
    if access.current.get().role not in KEEPERS:
        return {}
    authors_by_entry = catalog_authors.read(tx, entry_ids)
    return {
        entry_id: filled(common_pb2.Authors, _shown(authors))
        for entry_id, authors in authors_by_entry.items()
    }


def _shown(authors: Authors) -> Authors:
    created_by, updated_by, deleted_by = (
        by and access.shown_subject(by)
        for by in (authors.created_by, authors.updated_by, authors.deleted_by)
    )
    return replace(authors, created_by=created_by, updated_by=updated_by, deleted_by=deleted_by)


def of(tx: Transaction, entry: Entry) -> tuple[Entry, common_pb2.Authors | None]:
    """An entry with its authors."""
    return entry, read(tx, [entry.id]).get(entry.id)


def of_page(
    tx: Transaction, page: Page[Entry]
) -> tuple[Page[Entry], Mapping[UUID, common_pb2.Authors]]:
    """A page of entries with their authors by id."""
    return page, read(tx, page.ids)
