"""Names that a restored database takes from the bucket, of groups and datasets that come back."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.errors import InvalidArgument, NameTaken, NotFound
from meta.store.recovery import name_numbers
from meta.store.recovery.name_numbers import NONE, KnownName
from meta.store.recovery.rebuild import awaited_name
from segments import noted_names
from segments.inventory.listing import batches
from segments.noted_names import DATASET, GROUP, NotedName
from segments.store.interface import ObjectStore

NAMES_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class ReturnedName:
    """The name of a dataset or group, and the one that the bucket has for it if that differs."""

    kind: str
    id: str
    name: str
    noted_name: str


@dataclass(frozen=True, slots=True)
class NamesOutcome:
    """Names of what came back, and those of known entries that differ from the bucket's."""

    returned: tuple[ReturnedName, ...] = ()
    different: tuple[ReturnedName, ...] = ()


def take_names(transactions: Transactions, store: ObjectStore, *, is_dry_run: bool) -> NamesOutcome:
    """Bring unknown groups back, and name the datasets that came back.

    Of two that had one name the older one keeps it, and a known one before both. Each is one
    transaction, so this may be stopped and run again. Raises MetaError, StoreError.
    """
    kinds = [_Kind(transactions, store, kind) for kind in (GROUP, DATASET)]
    groups, datasets = kinds
    returned: list[ReturnedName] = []
    if not is_dry_run:
        for kind in kinds:
            kind.forget_missing()
        returned = [*groups.add_unknown(), *datasets.name_awaited()]
    group_names = {i: row.noted.name for i, row in groups.rows.items()}
    group_names |= {group.id: group.name for group in returned if group.kind == GROUP}
    different = [name for kind in kinds for name in kind.different(group_names)]
    return NamesOutcome(tuple(returned), tuple(different))


class _Kind:
    """The names of datasets, or of groups, in the database and in the bucket."""

    def __init__(self, transactions: Transactions, store: ObjectStore, kind: str) -> None:
        self._transactions, self._store, self._kind = transactions, store, kind
        self._objects = noted_names.newest(store, kind)
        self.rows = {str(row.id): row for row in _rows(transactions, kind)}

    def forget_missing(self) -> None:
        """Let meta write names that the bucket does not have any more."""
        ids = [
            row.id
            for entry_id, row in self.rows.items()
            if row.noted_number is not None and row.noted_number > self._number(entry_id)
        ]
        for batch in batches(ids, NAMES_AT_ONCE):
            forget = partial(name_numbers.forget, kind=self._kind, entry_ids=batch)
            self._transactions.write(forget)

    def add_unknown(self) -> Iterator[ReturnedName]:
        """Write the groups that the database does not know."""
        unknown = [group_id for group_id in self._objects if group_id not in self.rows]
        for group_id, noted in self._read(unknown):
            add = partial(
                name_numbers.add_group,
                group_id=UUID(group_id),
                noted=noted,
                number=self._number(group_id),
            )
            name = self._transactions.write(add)
            is_lost = noted is not None and noted.name != name
            yield ReturnedName(GROUP, group_id, name, noted.name if noted and is_lost else "")

    def name_awaited(self) -> Iterator[ReturnedName]:
        """Give the datasets that came back their names, unless somebody has renamed them."""
        awaited = {i for i, row in self.rows.items() if row.noted_number is None}
        oldest_first = [dataset_id for dataset_id in self._objects if dataset_id in awaited]
        for dataset_id, noted in self._read([*oldest_first, *awaited.difference(oldest_first)]):
            name, lost = self.rows[dataset_id].noted.name, ""
            key, number = UUID(dataset_id), self._number(dataset_id)
            awaited_as = awaited_name(dataset_id).name
            if noted is not None and name == awaited_as:
                take = partial(
                    name_numbers.take,
                    dataset_id=key,
                    awaited=awaited_as,
                    noted=noted,
                    number=number,
                )
                try:
                    name = self._transactions.write(take)
                except (NotFound, NameTaken, InvalidArgument):
                    lost = noted.name
                    # Its tenant has it all the same.
                    unnamed = replace(noted, name=awaited_as, group_id="")
                    name = self._transactions.write(partial(take, noted=unnamed, is_noted=False))
            if name == self.rows[dataset_id].noted.name:
                settle = partial(name_numbers.settle, entry_id=key, number=number)
                self._transactions.write(settle)
            yield ReturnedName(DATASET, dataset_id, name, lost)

    def different(self, group_names: Mapping[str, str]) -> Iterator[ReturnedName]:
        """The live names of which the bucket has a later one that the database does not know."""

        def shown(noted: NotedName, other: NotedName) -> str:
            group = group_names.get(noted.group_id, noted.group_id)
            name = f"{group}/{noted.name}" if group else noted.name
            name = name if noted.title == other.title else f"{name} ({noted.title})"
            is_moved = noted.tenant_id != other.tenant_id
            return f"{name} of tenant {noted.tenant_id}" if is_moved else name

        ahead = [
            entry_id
            for entry_id, row in self.rows.items()
            if row.is_live
            and row.noted_number is not None
            and self._number(entry_id) > row.noted_number
        ]
        for entry_id, noted in self._read(ahead):
            current = self.rows[entry_id].noted
            if noted is not None and noted != current:
                names = shown(current, noted), shown(noted, current)
                yield ReturnedName(self._kind, entry_id, *names)

    def _number(self, entry_id: str) -> int:
        item = self._objects.get(entry_id)
        return NONE if item is None else item.number

    def _read(self, ids: Iterable[str]) -> Iterator[tuple[str, NotedName | None]]:
        for batch in batches(ids, NAMES_AT_ONCE):
            objects = {i: self._objects[i] for i in batch if i in self._objects}
            noted = noted_names.read(self._store, objects)
            yield from ((entry_id, noted.get(entry_id)) for entry_id in batch)


def _rows(transactions: Transactions, kind: str) -> Iterator[KnownName]:
    after = UUID(int=0)
    while rows := transactions.read(
        partial(name_numbers.page, kind=kind, after=after, most=NAMES_AT_ONCE)
    ):
        yield from rows
        after = rows[-1].id
