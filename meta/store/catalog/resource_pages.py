"""Pages of resources: one filter and one order, each of which is one range of an index.

A page is read from the index at its position, so that its cost depends neither on the number of
resources nor on how many match. Operators are those of btree indexes, which are leakproof.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from uuid import UUID

from sqlalchemy import TextClause

from meta.store.catalog import groups, resources
from meta.store.catalog.resources import LabelSource, Resource, ResourceKind
from meta.store.engine import scope
from meta.store.engine.pool import Transaction

# Upper bound of an item's message without its texts, with the name of its group.
_ITEM_BYTES = 512 + 4 * 255


class ResourceOrder(Enum):
    """Orders of a list, by their columns."""

    NAME = "name"
    CREATED = "created_at"
    CHANGED = "changed_at"

    def place(self, resource: Resource) -> str:
        """The place of a resource in the order, as text."""
        value = getattr(resource, self.value)
        return value.isoformat() if isinstance(value, datetime) else str(value)


@dataclass(frozen=True, slots=True)
class ResourcePosition:
    """The place of the resource after which a page begins, and its id."""

    value: str
    id: UUID


# Names have at most 255 characters, and every one of them sorts between these two.
_ENDS = {
    ResourceOrder.NAME: ("", "\U0010ffff" * 256),
    ResourceOrder.CREATED: ("-infinity", "infinity"),
    ResourceOrder.CHANGED: ("-infinity", "infinity"),
}
_IDS = UUID(int=0), UUID(int=2**128 - 1)


@dataclass(frozen=True, slots=True)
class MemberFilter:
    """Live resources with a label, or a member of the context, of this value."""

    source: LabelSource
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class NameRange:
    """Live resources from a name on, and below one; None = no bound."""

    first: str | None = None
    end: str | None = None


@dataclass(frozen=True, slots=True)
class ResourceQuery:
    """A kind, a filter and an order; `is_live` counts without one."""

    kind: ResourceKind
    is_live: bool = True
    members: MemberFilter | None = None
    names: NameRange = NameRange()
    order: ResourceOrder = ResourceOrder.NAME
    is_descending: bool = False
    # Live datasets of this group, "" = the default one; None = of all.
    group: str | None = None


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """Resources in order; more follow if `has_next`."""

    items: Sequence[Resource]
    has_next: bool


def read(
    tx: Transaction,
    query: ResourceQuery,
    after: ResourcePosition | None,
    limit: int,
    bytes_max: int,
) -> ResourcePage:
    """Read a page, which ends at the limit or at a size, but has at least one resource if any."""
    visible = resources.visible_ids(tx, query.kind)
    start = after or ResourcePosition(
        _ENDS[query.order][query.is_descending], _IDS[query.is_descending]
    )
    values: dict[str, object] = {
        "kind": query.kind,
        "is_live": query.is_live,
        "place": start.value,
        "id": start.id,
        "most": limit + 1,
        "bytes_max": bytes_max,
    }
    if visible is not None:
        values["visible"] = visible
    if query.members is not None:
        member = query.members
        values |= {"source": member.source, "key": member.key, "value": member.value}
    if query.group:
        values["group"] = groups.get(tx, query.group).id
    names = {"first": query.names.first, "end": query.names.end}
    values |= {name: value for name, value in names.items() if value is not None}
    statement = _statement(
        query.order,
        is_descending=query.is_descending,
        is_filtered=query.members is not None,
        bounds=tuple(name for name, value in names.items() if value is not None),
        is_scoped=visible is not None,
        group=None if query.group is None else "= :group" if query.group else "IS NULL",
    )
    rows = tx.execute(statement, values).all()
    items = [resources.of_row(row[1:]) for row in rows[:limit]]
    return ResourcePage(items, bool(rows) and len(items) < rows[0][0])


@cache
def _statement(
    order: ResourceOrder,
    *,
    is_descending: bool,
    is_filtered: bool,
    bounds: tuple[str, ...],
    is_scoped: bool,
    group: str | None,
) -> TextClause:
    """The statement of a form of list; `page` is one range of the index of its order."""
    by, way, beyond = order.value, "DESC" if is_descending else "ASC", "<" if is_descending else ">"
    type_ = "text" if order is ResourceOrder.NAME else "timestamptz"
    columns = "tenant_key, id, kind, is_live, name, created_at, changed_at"
    if is_filtered:
        rows, columns = "resource_labels", f"{columns}, source, key, value"
        condition = "AND l.is_live AND l.source = :source AND l.key = :key AND l.value = :value"
    else:
        rows, condition = "resources", "AND l.is_live = :is_live"
        columns += ", group_id"
    if group is not None:
        # The kind as it is in the condition of the index.
        condition += f" AND l.group_id {group} AND l.kind = {ResourceKind.DATASET:d}"
    compared = {"first": "l.name >= :first", "end": "l.name < :end"}
    condition += "".join(f" AND {compared[bound]}" for bound in bounds)
    if is_scoped:
        # Few, and looked up one by one, where the range of the index may be long.
        rows = f"(SELECT {columns} FROM {rows} WHERE id = ANY(:visible) OFFSET 0)"  # noqa: S608
    return scope.statement(f"""
        WITH page AS (
          SELECT l.id, l.{by} AS place FROM {rows} l
          WHERE l.tenant_key = :naming_tenant AND l.kind = :kind {condition}
            AND (l.{by}, l.id) {beyond} (cast(:place AS {type_}), :id)
          ORDER BY l.{by} {way}, l.id {way} LIMIT :most),
        sized AS (
          SELECT r.*, page.place, sum(r.item_bytes) OVER (
            ORDER BY page.place {way}, page.id {way} ROWS UNBOUNDED PRECEDING) AS bytes
          -- The offset keeps it a look-up a resource, whatever the planner expects of the page.
          FROM page CROSS JOIN LATERAL (
            SELECT {resources.COLUMNS}, {_ITEM_BYTES} + octet_length(r.name) + r.text_bytes
              + coalesce(octet_length(a.created_by), 0) + coalesce(octet_length(a.updated_by), 0)
              + coalesce(octet_length(a.deleted_by), 0)
              + coalesce(octet_length(k.locked_by) + octet_length(k.reason), 0) AS item_bytes
            FROM resources r {resources.JOINED}
            WHERE r.id = page.id AND r.kind = :kind OFFSET 0) r)
        SELECT (SELECT count(*) FROM page), {_SIZED}, {resources.PLACES}, {resources.LABELS}
        FROM sized r WHERE r.bytes - r.item_bytes < :bytes_max
        ORDER BY r.place {way}, r.id {way}
    """)  # noqa: S608


_SIZED = resources.COLUMNS.replace("a.", "r.").replace("k.", "r.")
