"""Names of a rebuilt catalog: those of a file, then those of the bucket, then the ids.

A name is unique in its tenant, which the bucket says.
"""

import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

from meta.store.recovery.name_numbers import RestoredName
from segments import noted_names
from segments.dataset_names import parse, reserved_for_groups
from segments.keys import has_control_characters
from segments.noted_names import CHARACTERS_MAX, DATASET, GROUP, NameObject, NotedName
from segments.store.interface import ObjectStore
from segplane.recovery.rebuilt_tenants import RebuiltTenants, read_tenants

REFUSED = "{kind} {id} was named {name!r}: another one has that name, or its group is gone"


class NamesRefused(Exception):
    """The file of dataset names cannot be used; the message is one line that says why."""


@dataclass(slots=True)
class RebuiltNames:
    """The groups, and a name for each dataset; `warnings` say which name another one kept."""

    tenants: RebuiltTenants
    groups: dict[UUID, RestoredName] = field(default_factory=dict)
    datasets: dict[UUID, RestoredName] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    # Groups by tenant and name.
    group_ids: dict[tuple[UUID, str], UUID] = field(default_factory=dict)

    def shown(self, dataset_id: str) -> str:
        """The name by which an operator calls a dataset: `group/name`, or the name alone.

        Behind `//tenant/` in another tenant than `default`.
        """
        name = self.datasets[UUID(dataset_id)]
        return self.tenants.prefix(name.tenant_id) + self.text(name)

    def text(self, name: RestoredName) -> str:
        """A name as it is in its tenant."""
        group = self.groups.get(name.group_id) if name.group_id else None
        return f"{group.name}/{name.name}" if group else name.name


def read_names(path: Path) -> dict[str, str]:
    """Read a JSON object of dataset ids and their names; raises NamesRefused."""
    try:
        names = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise NamesRefused(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(names, dict):
        raise NamesRefused(f"{path} must hold one JSON object: dataset ids and their names")
    for dataset_id, name in names.items():
        if (
            not isinstance(name, str)
            or not 1 <= len(name) <= CHARACTERS_MAX
            or has_control_characters(name)
        ):
            raise NamesRefused(
                f"{path}: the name of {dataset_id} must be text of 1 to {CHARACTERS_MAX}"
                " characters without control characters"
            )
    return names


def name_all(
    store: ObjectStore, dataset_ids: Iterable[str], given: Mapping[str, str]
) -> RebuiltNames:
    """Name the datasets of a bucket and its groups; raises NamesRefused.

    Of two that had one name the older one keeps it, by the time of its object in the bucket.
    """
    ids = set(dataset_ids)
    if unknown := sorted(given.keys() - ids):
        raise NamesRefused(f"the bucket holds nothing of dataset {unknown[0]}")
    names = RebuiltNames(read_tenants(store))
    _name_groups(names, store)
    objects = {i: item for i, item in noted_names.newest(store, DATASET).items() if i in ids}
    noted = noted_names.read(store, objects)
    taken = set[tuple[UUID, str]]()
    for dataset_id in (*given, *objects, *sorted(ids - objects.keys())):
        if UUID(dataset_id) in names.datasets:
            continue
        claim = noted.get(dataset_id)
        tenant_id = names.tenants.of(claim)
        if dataset_id in given:
            name = _given(names, given[dataset_id], claim, tenant_id)
        elif free_name := _free(names, taken, claim, tenant_id):
            name = free_name
        else:
            title = claim.title if claim else ""
            name = RestoredName(f"rebuilt-{dataset_id}", title, tenant_id=tenant_id)
            if claim is not None:
                names.warnings.append(REFUSED.format(kind=DATASET, id=dataset_id, name=claim.name))
        if (tenant_id, names.text(name)) in taken:
            raise NamesRefused("two datasets would have one name")
        taken.add((tenant_id, names.text(name)))
        names.datasets[UUID(dataset_id)] = _numbered(name, claim, objects.get(dataset_id))
    restored = (*names.groups.values(), *names.datasets.values())
    names.tenants.keep(name.tenant_id for name in restored)
    names.warnings += names.tenants.warnings
    return names


def _name_groups(names: RebuiltNames, store: ObjectStore) -> None:
    objects = noted_names.newest(store, GROUP)
    noted = noted_names.read(store, objects)
    for group_id, item in objects.items():
        claim, name = noted.get(group_id), f"rebuilt-{group_id}"
        tenant_id = names.tenants.of(claim)
        if claim is not None:
            if (tenant_id, claim.name) in names.group_ids or reserved_for_groups(claim.name):
                names.warnings.append(REFUSED.format(kind=GROUP, id=group_id, name=claim.name))
            else:
                name = claim.name
        names.group_ids[tenant_id, name] = UUID(group_id)
        restored = RestoredName(name, tenant_id=tenant_id)
        names.groups[UUID(group_id)] = _numbered(restored, claim, item)


def _given(
    names: RebuiltNames, text: str, claim: NotedName | None, tenant_id: UUID
) -> RestoredName:
    """The name of the file, in a group of the bucket if it begins with its name."""
    parsed = parse(text)
    group_id = names.group_ids.get((tenant_id, parsed.group or "")) if parsed.base_name else None
    name = text if group_id is None else parsed.base_name
    return RestoredName(name, claim.title if claim else "", group_id, tenant_id=tenant_id)


def _free(
    names: RebuiltNames,
    taken: Container[tuple[UUID, str]],
    claim: NotedName | None,
    tenant_id: UUID,
) -> RestoredName | None:
    """The name of the bucket; None if there is none, or it cannot be had."""
    if claim is None:
        return None
    group_id = UUID(claim.group_id) if claim.group_id else None
    if group_id is not None:
        group = names.groups.get(group_id)
        if group is None or group.tenant_id != tenant_id:
            return None
    name = RestoredName(claim.name, claim.title, group_id, tenant_id=tenant_id)
    text = names.text(name)
    is_of_group = group_id is None and _given(names, text, claim, tenant_id).group_id is not None
    is_taken = (tenant_id, text) in taken
    return None if is_taken or is_of_group or len(text) > CHARACTERS_MAX else name


def _numbered(name: RestoredName, claim: NotedName | None, item: NameObject | None) -> RestoredName:
    """A name with the numbers of its object: it is noted anew if the object has another one."""
    if item is None:
        return name
    content = NotedName(name.name, name.title, str(name.group_id or ""), str(name.tenant_id))
    is_noted = claim == content
    number = item.number if is_noted else item.number + 1
    return replace(name, name_number=number, noted_number=item.number)
