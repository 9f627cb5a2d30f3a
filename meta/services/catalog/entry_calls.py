"""Calls that schemas, views and projections have in common; each change leaves a record."""

from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from google.protobuf.message import Message

from meta.commits.transactions import Transactions
from meta.services.catalog import entry_versions
from meta.services.messages import authors, checks, pages
from meta.store.access import audit
from meta.store.catalog.named_entries import Content, Entry, NamedEntries
from meta.store.engine.pool import Transaction
from meta.v1 import catalog_pb2, common_pb2

_Identified = (
    catalog_pb2.GetViewRequest
    | catalog_pb2.GetProjectionRequest
    | catalog_pb2.DeleteSchemaRequest
    | catalog_pb2.DeleteViewRequest
    | catalog_pb2.DeleteProjectionRequest
)
_Create = (
    catalog_pb2.CreateSchemaRequest
    | catalog_pb2.CreateViewRequest
    | catalog_pb2.CreateProjectionRequest
)
_List = (
    catalog_pb2.ListSchemasRequest
    | catalog_pb2.ListViewsRequest
    | catalog_pb2.ListProjectionsRequest
)
_Update = (
    catalog_pb2.UpdateSchemaRequest
    | catalog_pb2.UpdateViewRequest
    | catalog_pb2.UpdateProjectionRequest
)
EntryT = TypeVar("EntryT", contravariant=True)
Asked = TypeVar("Asked")
Result = TypeVar("Result")


class Changes(Protocol[EntryT]):
    """The changes that a request asks for."""

    @property
    def schema_id(self) -> UUID | None:
        """The schema that the entry shall have."""

    def is_of(self, entry: EntryT, /) -> bool:
        """True if an entry is as it would be after them."""


class Described(NamedTuple, Generic[Entry]):
    """An entry as it is shown."""

    entry: Entry
    authors: common_pb2.Authors | None
    version: str


class EntryCalls(Generic[Entry]):
    """The calls of one kind; `content_of` makes the message whose digest is a version."""

    def __init__(
        self, entries: NamedEntries[Entry], content_of: Callable[[Entry], Message]
    ) -> None:
        self._entries = entries
        self._content_of = content_of

    def create(
        self,
        transactions: Transactions,
        request: _Create,
        content: Content,
        work: Callable[[Transaction, Content], Entry] | None = None,
    ) -> Entry:
        """Create an entry; the same name and content again are the same entry."""
        create = work or self._entries.create
        return self._write(transactions, request, content.name, lambda tx: create(tx, content))

    def get(self, transactions: Transactions, request: _Identified) -> Described[Entry]:
        """Read an entry by id or name."""
        named = checks.identifier(request)
        entry, by = transactions.read(lambda tx: authors.of(tx, self._entries.get(tx, named)))
        return Described(entry, by, self.version_of(entry))

    def list_page(
        self, transactions: Transactions, request: _List, *schema_ids: UUID | None
    ) -> tuple[list[Described[Entry]], catalog_pb2.PaginationResponse]:
        """Page through the entries, all or those of one schema."""
        rpc = _rpc(request)
        window = pages.window(request.pagination, rpc, *schema_ids)
        page, by = transactions.read(
            lambda tx: authors.of_page(tx, self._entries.list_page(tx, window, *schema_ids))
        )
        items = [Described(e, by.get(e.id), self.version_of(e)) for e in page.items]
        return items, pages.answer(page, rpc, *schema_ids)

    def update(
        self,
        transactions: Transactions,
        request: _Update,
        changes: Asked,
        work: Callable[[Transaction, UUID | str, Asked, str | None], Entry],
    ) -> Entry:
        """Change an entry; `work` gets its id or name, the changes, and the expected version."""
        named, expected = checks.identifier(request), entry_versions.expected(request)
        return self._write(
            transactions, request, named, lambda tx: work(tx, named, changes, expected)
        )

    def delete(self, transactions: Transactions, request: _Identified) -> bool:
        """Delete an entry; False if there is none."""
        named = checks.identifier(request)
        return self._write(transactions, request, named, lambda tx: self._entries.remove(tx, named))

    def version_of(self, entry: Entry) -> str:
        """The version of an entry: the expected_version of a later change."""
        return entry_versions.of(self._content_of(entry))

    def lock(
        self, tx: Transaction, named: UUID | str, changes: Changes[Entry], expected: str | None
    ) -> tuple[Entry, bool]:
        """Lock an entry of the expected version; True if the changes are those of a repeated call.

        Raises NotFound, and RaceLost for another version.
        """
        entry = self._entries.lock(tx, named, changes.schema_id)
        is_in_effect = changes.is_of(entry)
        entry_versions.check(expected, self._content_of(entry), is_in_effect=is_in_effect)
        # For the present version the changes are checked like any other.
        return entry, is_in_effect and expected not in (None, self.version_of(entry))

    def _write(
        self,
        transactions: Transactions,
        request: Message,
        named: UUID | str,
        change: Callable[[Transaction], Result],
    ) -> Result:
        """Make a change of the entry `named`, and leave a record unless nothing changed by it."""

        def work(tx: Transaction) -> Result:
            before = self._entries.find(tx, named)
            result = change(tx)
            # It may have another name now.
            after = self._entries.find(tx, named if before is None else before.id)
            entry = before or after
            if before != after and entry is not None:
                audit.note(tx, _rpc(request), entry.id, _words(entry, before, after))
            return result

        return transactions.write(work)


def _rpc(request: Message) -> str:
    return request.DESCRIPTOR.name.removesuffix("Request")


def _words(entry: Entry, before: Entry | None, after: Entry | None) -> str:
    is_changed = before is not None and after is not None
    return audit.states(before, after) if is_changed else f"name {entry.name!r}"
