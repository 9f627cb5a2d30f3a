"""Calls that schemas, views and projections have in common; each change leaves a record."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast
from uuid import UUID

from google.protobuf.message import Message

from meta.commits.transactions import Transactions
from meta.services.catalog import entry_versions
from meta.services.messages import authors, checks, pages
from meta.store.access import audit
from meta.store.catalog.named_entries import Content, Entry, NamedEntries
from meta.store.engine.pool import Transaction
from meta.v1 import catalog_pb2 as pb
from meta.v1 import common_pb2

_List = pb.ListSchemasRequest | pb.ListViewsRequest | pb.ListProjectionsRequest
Create = TypeVar("Create", bound=Message, contravariant=True)
Update = TypeVar("Update", bound=Message, contravariant=True)
Asked = TypeVar("Asked", bound="Changes")
Result = TypeVar("Result")


class Changes(Protocol):
    """The changes that a request asks for."""

    @property
    def schema_id(self) -> UUID | None:
        """The schema that the entry shall have."""

    def is_of(self, entry: Any, /) -> bool:
        """True if an entry is as it would be after them."""


class EntryCalls(ABC, Generic[Entry, Create, Update, Asked]):
    """The five calls of one kind of entries.

    The replies of a kind have the fields of its message, and others by the same names.
    """

    entries: ClassVar[NamedEntries[Any]]

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def create(self, request: Create) -> Message:
        """Create an entry; the same name and content again are the same entry."""
        content = self.new(request)
        entry = self._write(request, content.name, lambda tx: self.make(tx, content))
        return self._reply(request, entry)

    def get(self, request: Message) -> Message:
        """Read an entry by id or name."""
        identifier, reads = checks.identifier(request), self.reader(request)
        entry, by = self._transactions.read(lambda tx: authors.of(tx, reads(tx, identifier)))
        return self._reply(request, entry, by)

    def list_page(self, request: _List) -> Message:
        """Page through the entries, all or those of one schema."""
        filters: tuple[UUID | None, ...] = ()
        if "schema_id" in request.DESCRIPTOR.fields_by_name:
            filters = (checks.filter_uuid(request, "schema_id"),)
        rpc = _rpc(request)
        window = pages.window(request.pagination, rpc, *filters)
        page, by = self._transactions.read(
            lambda tx: authors.of_page(tx, self.entries.list_page(tx, window, *filters))
        )
        items = [self._message(type(self.content(e)), e, by.get(e.id)) for e in page.items]
        return _reply_kind(request)(items=items, pagination=pages.answer(page, rpc, *filters))

    def update(self, request: Update) -> Message:
        """Change the given parts of an entry."""
        changes, key = self.changes(request), checks.identifier(request)
        expected = entry_versions.expected(request)
        entry = self._write(request, key, lambda tx: self.change(tx, key, changes, expected))
        return self._reply(request, entry)

    def delete(self, request: Message) -> Message:
        """Delete an entry and its links; without success if there is none."""
        identifier = checks.identifier(request)
        success = self._write(request, identifier, lambda tx: self.entries.remove(tx, identifier))
        return _reply_kind(request)(success=success)

    @abstractmethod
    def content(self, entry: Entry, /) -> Message:
        """The message whose digest is the version of an entry."""

    @abstractmethod
    def new(self, request: Create, /) -> Content:
        """The checked content of an entry to create."""

    @abstractmethod
    def changes(self, request: Update, /) -> Asked:
        """The checked changes of an entry."""

    @abstractmethod
    def change(
        self, tx: Transaction, identifier: UUID | str, changes: Asked, expected: str | None
    ) -> Entry:
        """Change an entry of the expected version."""

    def make(self, tx: Transaction, content: Content) -> Entry:
        """Create an entry of checked content."""
        return cast("Entry", self.entries.create(tx, content))

    def reader(self, request: Message) -> Callable[[Transaction, UUID | str], Entry]:
        """The function that reads what a request asks for."""
        return self.entries.get

    def others(self, entry: Entry) -> Mapping[str, object]:
        """Further fields of replies."""
        return {}

    def lock(
        self, tx: Transaction, identifier: UUID | str, changes: Asked, expected: str | None
    ) -> tuple[Entry, bool]:
        """Lock an entry of the expected version; True if the changes are those of a repeated call.

        Raises NotFound, and RaceLost for another version.
        """
        entry = self.entries.lock(tx, identifier, changes.schema_id)
        is_in_effect = changes.is_of(entry)
        content = self.content(entry)
        entry_versions.check(expected, content, is_in_effect=is_in_effect)
        # For the present version the changes are checked like any other.
        return entry, is_in_effect and expected not in (None, entry_versions.of(content))

    def _write(
        self, request: Message, identifier: UUID | str, change: Callable[[Transaction], Result]
    ) -> Result:
        """Change the entry `identifier`, and leave a record unless nothing changed by it."""

        def work(tx: Transaction) -> Result:
            before = self.entries.find(tx, identifier)
            result = change(tx)
            # It may have another name now.
            after = self.entries.find(tx, identifier if before is None else before.id)
            entry = before or after
            if before != after and entry is not None:
                audit.note(tx, _rpc(request), entry.id, _words(entry, before, after))
            return result

        return self._transactions.write(work)

    def _reply(
        self, request: Message, entry: Entry, by: common_pb2.Authors | None = None
    ) -> Message:
        return self._message(_reply_kind(request), entry, by)

    def _message(self, kind: type[Message], entry: Entry, by: common_pb2.Authors | None) -> Message:
        content = self.content(entry)
        values: dict[str, object] = {field.name: value for field, value in content.ListFields()}
        values |= {"version": entry_versions.of(content), "authors": by, **self.others(entry)}
        return kind(**{n: v for n, v in values.items() if n in kind.DESCRIPTOR.fields_by_name})


def _rpc(request: Message) -> str:
    return request.DESCRIPTOR.name.removesuffix("Request")


def _reply_kind(request: Message) -> type[Message]:
    return cast("type[Message]", getattr(pb, f"{_rpc(request)}Response"))


def _words(entry: Entry, before: Entry | None, after: Entry | None) -> str:
    is_changed = before is not None and after is not None
    return audit.states(before, after) if is_changed else f"name {entry.name!r}"
