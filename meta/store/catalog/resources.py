"""Notes, contexts and labels of resources, whose rows triggers of the database keep.

They write names and times, and raise a number with each change by an author: revision 0068.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause

from meta.errors import NotFound, QuotaExceeded, RaceLost
from meta.store.access import audit
from meta.store.catalog import datasets, groups
from meta.store.catalog.resource_contexts import members
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.versions.clock import NOW

LABELS_MAX = 64
# Tags and lengths of a label in a message.
_LABEL_BYTES = 8


class ResourceKind(IntEnum):
    """Kinds of resources, by their numbers in the contract."""

    DATASET = 1
    GROUP = 2
    SCHEMA = 3
    VIEW = 4
    PROJECTION = 5
    INGEST_TOKEN = 6

    @property
    def noun(self) -> str:
        """The kind in refusals."""
        return self.name.lower().replace("_", " ")


class LabelSource(IntEnum):
    """Origins of the rows that lists are filtered by."""

    LABEL = 0
    CONTEXT = 1


@dataclass(frozen=True, slots=True)
class Care:
    """The parts of a resource that people write about it; None = none."""

    note: str | None = None
    context: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    # Only datasets have one.
    title: str | None = None

    @property
    def text_bytes(self) -> int:
        """The bytes of its texts in a message."""
        written = (self.note or "", self.context or "", self.title or "")
        texts = (*written, *self.labels, *self.labels.values())
        return sum(len(text.encode()) for text in texts) + _LABEL_BYTES * len(self.labels)


@dataclass(frozen=True, slots=True)
class CarePatch:
    """A change of what people write: the given texts, None to clear one, and labels."""

    texts: Mapping[str, str | None] = field(default_factory=dict)
    set_labels: Mapping[str, str] = field(default_factory=dict)
    removed_labels: frozenset[str] = frozenset()

    def applied(self, care: Care) -> Care:
        """The state after the change of one before."""
        kept = {k: v for k, v in care.labels.items() if k not in self.removed_labels}
        return Care(
            note=self.texts.get("note", care.note),
            context=self.texts.get("context", care.context),
            labels={**kept, **self.set_labels},
            title=self.texts.get("title", care.title),
        )


@dataclass(frozen=True, slots=True)
class LockFacts:
    """The lock of a resource, as everybody may read it; None = it has no end."""

    locked_at: datetime
    locked_by: str
    reason: str
    ends_at: datetime | None


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource with the authors of its changes; None = it did not happen, or is not known."""

    kind: ResourceKind
    id: UUID
    name: str
    created_at: datetime
    changed_at: datetime
    deleted_at: datetime | None
    number: int
    created_by: str | None
    updated_by: str | None
    deleted_by: str | None
    care: Care
    lock: LockFacts | None = None
    # The group of a dataset; None for the default group.
    group_id: UUID | None = None
    group: str | None = None

    @property
    def version(self) -> str:
        """A text that every change changes, also after the database was restored."""
        return f"{self.number}-{int(self.changed_at.timestamp() * 1_000_000):x}"


COLUMNS = """
    r.kind, r.id, r.name, r.created_at, r.changed_at, r.deleted_at, r.number,
    a.created_by, a.updated_by, a.deleted_by, r.note, r.context,
    k.locked_at, k.locked_by, k.reason, k.ends_at, r.group_id
"""
JOINED = f"""
    LEFT JOIN catalog_authors a ON a.entry_id = r.id
    LEFT JOIN resource_locks k ON k.kind = r.kind AND k.resource_id = r.id
      AND k.ended_at IS NULL AND (k.ends_at IS NULL OR k.ends_at > {NOW})
"""
# The name of a dataset's group, and its title.
PLACES = f"""
    (SELECT g.name FROM groups g WHERE g.id = r.group_id),
    CASE WHEN r.kind = {ResourceKind.DATASET:d} THEN (
      SELECT nullif(d.title, '') FROM datasets d WHERE d.id = r.id) END
"""  # noqa: S608
LABELS = f"""
    (SELECT array_agg(ARRAY[l.key, l.value] ORDER BY l.key) FROM resource_labels l
     WHERE l.id = r.id AND l.kind = r.kind AND l.source = {LabelSource.LABEL:d})
"""  # noqa: S608
_GET = scope.statement(f"""
    SELECT {COLUMNS}, {PLACES}, {LABELS} FROM resources r {JOINED}
    WHERE r.id = :id AND r.kind = :kind AND {scope.reaches("r")}
""")  # noqa: S608
_BY_NAME = scope.statement("""
    SELECT id FROM resources WHERE tenant_key = :naming_tenant AND kind = :kind AND is_live
      AND name = :name ORDER BY id LIMIT 1
""")
# The entry's row: what deletes it comes before or after a change as a whole.
_KEEP_ENTRY: dict[ResourceKind, TextClause] = {
    kind: scope.statement(
        f"SELECT id FROM {table} WHERE id = :id AND {scope.reaches(table)} FOR NO KEY UPDATE"  # noqa: S608
    )
    for kind, table in ((kind, f"{kind.name.lower()}s") for kind in ResourceKind)
}
_WRITE = scope.statement(f"""
    UPDATE resources SET note = :note, context = :context, text_bytes = :bytes
    WHERE id = :id AND kind = :kind AND {scope.reaches("resources")} RETURNING number
""")  # noqa: S608
_TITLE = scope.statement(
    f"UPDATE datasets SET title = :title WHERE id = :id AND {scope.reaches('datasets')}"  # noqa: S608
)
_REMOVE = scope.statement(f"""
    DELETE FROM resource_labels WHERE id = :id AND kind = :kind AND source = :source
      AND key = ANY(cast(:keys AS text[])) AND {scope.reaches("resource_labels")}
""")  # noqa: S608
_ADD = scope.statement(f"""
    INSERT INTO resource_labels
      (id, kind, source, key, value, name, created_at, changed_at, is_live, tenant_key)
    SELECT r.id, r.kind, :source, m.key, m.value, r.name, r.created_at, r.changed_at, r.is_live,
           r.tenant_key
    FROM resources r, unnest(cast(:keys AS text[]), cast(:values AS text[])) AS m (key, value)
    WHERE r.id = :id AND r.kind = :kind AND {scope.reaches("r")}
""")  # noqa: S608


def get(tx: Transaction, kind: ResourceKind, identifier: UUID | str) -> Resource:
    """The resource with this id, deleted or not, or the live one of this name. Raises NotFound."""
    resource_id = id_of(tx, kind, identifier)
    row, visible = None, visible_ids(tx, kind)
    if visible is None or resource_id in visible:
        row = tx.execute(_GET, {"id": resource_id, "kind": kind}).one_or_none()
    if row is None:
        raise _missing(kind, identifier)
    return of_row(row)


def visible_ids(tx: Transaction, kind: ResourceKind) -> list[UUID] | None:
    """Ids of the resources of a kind that the caller may see; None = all."""
    if kind is ResourceKind.GROUP:
        return groups.visible_ids(tx)
    return scope.visible_ids() if kind is ResourceKind.DATASET else None


def of_row(row: Sequence[Any]) -> Resource:
    """A resource of the values of COLUMNS, PLACES and LABELS."""
    *facts, note, context, locked_at, locked_by, reason, ends_at, group_id, group, title, labels = (
        row
    )
    lock = LockFacts(locked_at, locked_by, reason, ends_at) if locked_at is not None else None
    care = Care(note, context, dict(labels or ()), title)
    values: tuple[Any, ...] = *facts, care, lock, group_id, group
    return Resource(ResourceKind(values[0]), *values[1:])


def change(
    tx: Transaction,
    kind: ResourceKind,
    identifier: UUID | str,
    patch: CarePatch,
    expected_version: str | None,
) -> Resource:
    """Change a live resource; one that is as the patch makes it stays, of whatever version.

    Raises NotFound, RaceLost for another version, QuotaExceeded for too many labels.
    """
    resource = _lock(tx, kind, identifier)
    before, after = resource.care, patch.applied(resource.care)
    if before == after:
        return resource
    if expected_version not in (None, resource.version):
        raise _race_lost(resource, expected_version)
    if len(after.labels) > LABELS_MAX:
        raise QuotaExceeded(
            f"the {kind.noun} would have {len(after.labels)} labels, more than {LABELS_MAX}",
            limit=LABELS_MAX,
        )
    # First, as in calls that change the entry itself: its author, whose trigger takes the resource.
    audit.note(tx, "UpdateResource", resource.id, audit.states(before, after))
    ref: dict[str, object] = {"id": resource.id, "kind": kind}
    _write_rows(tx, ref, LabelSource.LABEL, before.labels, after.labels)
    if before.context != after.context:
        _write_rows(tx, ref, LabelSource.CONTEXT, members(before.context), members(after.context))
    if before.title != after.title:
        tx.execute(_TITLE, {"id": resource.id, "title": after.title or ""})
    values = {"note": after.note, "context": after.context, "bytes": after.text_bytes}
    number = tx.execute(_WRITE, {**ref, **values}).scalar_one()
    changed = get(tx, kind, resource.id)
    if expected_version is not None and number != resource.number + 1:
        # A link of a view changes it beside the lock.
        raise _race_lost(changed, expected_version)
    return changed


def _race_lost(resource: Resource, expected_version: str | None) -> RaceLost:
    return RaceLost(
        "it has changed since the version that the change was made for; read it again",
        expected_version=expected_version,
        version=resource.version,
    )


def id_of(tx: Transaction, kind: ResourceKind, identifier: UUID | str) -> UUID:
    """The id, or that of the live resource with the name. Raises NotFound."""
    if isinstance(identifier, UUID):
        return identifier
    if kind is ResourceKind.DATASET:
        return datasets.get(tx, identifier).id
    row = tx.execute(_BY_NAME, {"kind": kind, "name": identifier}).one_or_none()
    if row is None:
        raise _missing(kind, identifier)
    return UUID(str(row.id))


def _missing(kind: ResourceKind, identifier: UUID | str) -> NotFound:
    return NotFound(f"there is no such {kind.noun}", **{kind.name.lower(): identifier})


def _lock(tx: Transaction, kind: ResourceKind, identifier: UUID | str) -> Resource:
    """Keep a live resource as it is until the commit, but for links of a view."""
    resource_id = id_of(tx, kind, identifier)
    tx.execute(_KEEP_ENTRY[kind], {"id": resource_id})
    resource = get(tx, kind, resource_id)
    if resource.deleted_at is not None:
        raise _missing(kind, identifier)
    return resource


def _write_rows(
    tx: Transaction,
    ref: Mapping[str, object],
    source: LabelSource,
    before: Mapping[str, str],
    after: Mapping[str, str],
) -> None:
    """Replace the rows that differ."""
    deleted = [key for key in before if before[key] != after.get(key)]
    added = {key: value for key, value in after.items() if before.get(key) != value}
    if deleted:
        tx.execute(_REMOVE, {**ref, "source": source, "keys": deleted})
    if added:
        values = {"keys": list(added), "values": list(added.values())}
        tx.execute(_ADD, {**ref, "source": source, **values})
