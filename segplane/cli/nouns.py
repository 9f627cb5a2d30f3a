"""Nouns of the command line: one description gives each its list, show, delete, lock and unlock."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic

from segplane.cli import care, resource_locks
from segplane.cli.command import Function, command, group
from segplane.cli.output import Answer, Columns, Fact, Item, cell, facts, listing

if TYPE_CHECKING:
    from google.protobuf.message import Message


PAGE_LIMIT = 1_000


class Noun(Generic[Item]):
    """Kind of things that commands list, show and delete.

    `columns` are those of the list; `shown` yields the names and values of one item, by default the
    columns. `sample` is a key for examples. Resources are shown with their notes, labels, contexts
    and locks.
    """

    def __init__(
        self,
        name: str,
        columns: "Columns[Item]",
        shown: Callable[[Item], Iterable[Fact]] | None = None,
        *,
        sample: str = "0197c9a2-7f3e-7000-8000-000000000001",
        about: str | None = None,
    ) -> None:
        self.app = group(about)
        self._name, self._sample = name, sample
        self._columns, self._shown = columns, shown or self._cells
        if name in care.NOUNS:
            kind = care.Kind(name)
            self.command("lock", "{} --reason 'audit of 2026'")(_of(resource_locks.lock, kind))
            self.command("unlock", "{} --token-file lock.token")(_of(resource_locks.unlock, kind))

    def command(
        self, verb: str, arguments: str = "", *, hidden: bool = False
    ) -> Callable[[Function], Function]:
        """Register a command; the example has its arguments, {} for the key of the sample."""
        example = f"{self._name} {verb} {arguments.format(self._sample)}".rstrip()
        register = command(self.app, example, verb, hidden=hidden)
        if verb != "show" or self._name not in care.NOUNS:
            return register

        def register_extended(function: Function) -> Function:
            register(care.shown(function, care.Kind(self._name)))
            return function

        return register_extended

    def lists(self, function: Callable[..., Iterable[Item]]) -> None:
        """Make `list` of a function that returns items; its parameters are the filters."""
        self.command("list")(_answering(function, self.listing))

    def shows(self, function: Callable[..., Item]) -> None:
        """Make `show` of a function that returns an item."""
        self.command("show", "{}")(_answering(function, self.answer))

    def deletes(self, function: Callable[..., "Message"], verb: str = "delete") -> None:
        """Make `delete`, or another verb that prints nothing, of a function that calls meta."""
        self.command(verb, "{}")(_answering(function, Answer))

    def listing(self, items: Iterable[Item]) -> Answer:
        """Answer with a list."""
        return listing(items, self._columns)

    def listing_of(self, item: Item, exit_code: int = 0) -> Answer:
        """Answer with one item, as a list of it for people."""
        return Answer(item, self.listing([item]).text, exit_code=exit_code)

    def answer(self, item: Item) -> Answer:
        """Answer with one item."""
        return Answer(item, facts(self._shown(item)))

    def _cells(self, item: Item) -> Iterator[Fact]:
        for name, column in self._columns.items():
            yield name, cell(item, column)


def pages(
    call: Callable[[Any], Any],
    request: Any,
    limit: int | None = None,
    cursor: str = "",
) -> Iterator[Any]:
    """Yield the items of a call that lists, page by page, at most `limit`.

    `cursor` is the field of the request that takes the id of the last item; without one, pages have
    their own cursors.
    """
    paging = request if cursor else request.pagination
    while limit is None or limit > 0:
        paging.limit = PAGE_LIMIT if limit is None else min(PAGE_LIMIT, limit)
        reply = call(request)
        items = _items(reply)
        yield from items
        if limit is not None:
            limit -= len(items)
        if cursor:
            if len(items) < paging.limit:
                return
            setattr(request, cursor, items[-1].id)
        elif not reply.pagination.next_cursor:
            return
        else:
            paging.after = reply.pagination.next_cursor


def _items(reply: Any) -> Any:
    """Return the items of a page: the only repeated field of its message."""
    (field,) = (field for field in reply.DESCRIPTOR.fields if field.is_repeated)
    return getattr(reply, field.name)


def _of(function: Callable[..., Answer], kind: care.Kind) -> Callable[..., Answer]:
    """Return the command of a kind."""

    def run(**values: Any) -> Answer:
        return function(kind=kind, **values)

    signature = inspect.signature(function)
    parameters = [p for name, p in signature.parameters.items() if name != "kind"]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__doc__ = function.__doc__
    return run


def _answering(
    function: Callable[..., Any], answer: Callable[[Any], Answer]
) -> Callable[..., Answer]:
    """Return a command that answers with the result of a function."""

    def run(*values: Any, **options: Any) -> Answer:
        return answer(function(*values, **options))

    run.__signature__ = inspect.signature(function).replace(  # type: ignore[attr-defined]
        return_annotation=Answer
    )
    run.__doc__ = function.__doc__
    return run
