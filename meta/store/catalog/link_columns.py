"""Columns of links: the promoted columns that a link reads, and the columns that it yields."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, insert, text
from sqlalchemy.sql.expression import bindparam

from meta.errors import StillReferenced
from meta.store.catalog.dataset_layouts import PromotedColumnRow
from meta.store.catalog.schema_versions import SchemaColumn
from meta.store.engine.pool import Transaction
from meta.store.tables.catalog import link_columns

BLOCKERS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class TypedLink:
    """The promoted columns that a link reads, the columns it yields, and promoted ones as they are.

    A column that passes through matters to schemas that have it, and to nothing else.
    """

    reads: tuple[SchemaColumn, ...]
    yields: tuple[SchemaColumn, ...]
    passes: tuple[SchemaColumn, ...]


_CLEAR = delete(link_columns).where(link_columns.c.link_id == bindparam("link"))
_ADD = insert(link_columns)
_LOST = text("""
    SELECT DISTINCT 'view ' || v.name || ' (projection ' || p.name || ') reads ' || c.name
    FROM view_dataset_projections l
    JOIN link_columns c ON c.link_id = l.id
    JOIN views v ON v.id = l.view_id JOIN projections p ON p.id = l.projection_id
    WHERE l.dataset_id = :dataset
      AND (c.kind = 0 OR c.kind = 2 AND EXISTS (
          SELECT FROM schema_columns s
          WHERE s.schema_id IN (v.schema_id, p.schema_id) AND s.name = c.name))
      AND (c.name, c.type) NOT IN (
          SELECT * FROM unnest(CAST(:names AS TEXT[]), CAST(:types AS SMALLINT[])))
    ORDER BY 1 LIMIT :most
""")
# Numbers widen in the order of their types' numbers: int, long, real.
_LACKING = text("""
    SELECT DISTINCT 'view ' || v.name || ' (projection ' || p.name || ') lacks ' || w.name
    FROM view_dataset_projections l
    JOIN views v ON v.id = l.view_id JOIN projections p ON p.id = l.projection_id
    CROSS JOIN unnest(CAST(:names AS TEXT[]), CAST(:types AS SMALLINT[])) w (name, type)
    WHERE (v.schema_id = :schema OR p.schema_id = :schema OR v.id = :view OR p.id = :projection)
      AND EXISTS (SELECT FROM link_columns c WHERE c.link_id = l.id AND c.kind > 0)
      AND NOT EXISTS (
          SELECT FROM link_columns c
          WHERE c.link_id = l.id AND c.kind > 0 AND c.name = w.name
            AND (c.type = w.type OR (c.type < w.type AND c.type >= 1 AND w.type <= 3)))
    ORDER BY 1 LIMIT :most
""")


def replace(tx: Transaction, link_id: UUID, columns: TypedLink) -> None:
    """Store the columns of a link whose dataset, view and projection the caller has locked."""
    tx.execute(_CLEAR, {"link": link_id})
    rows = [
        {"link_id": link_id, "kind": kind, "name": c.name, "type": c.kql_type}
        for kind, same_kind in enumerate((columns.reads, columns.yields, columns.passes))
        for c in same_kind
    ]
    if rows:
        tx.execute(_ADD, rows)


def check_promoted(tx: Transaction, dataset_id: UUID, kept: Sequence[PromotedColumnRow]) -> None:
    """Refuse a dataset's new promoted columns if a link reads one that would go or change."""
    refuse_blocked(
        tx.execute(_LOST, {"dataset": dataset_id, **_arrays(kept)}).scalars().all(),
        "views read promoted columns that would go or change: change their projections first",
    )


def check_outputs(
    tx: Transaction,
    expected: Sequence[SchemaColumn],
    *,
    schema_id: UUID | None = None,
    view_id: UUID | None = None,
    projection_id: UUID | None = None,
) -> None:
    """Refuse columns of a schema that links of its users do not yield."""
    users = {"schema": schema_id, "view": view_id, "projection": projection_id}
    refuse_blocked(
        tx.execute(_LACKING, {**users, **_arrays(expected)}).scalars().all(),
        "links do not yield columns of the schema: change their projections first",
    )


def _arrays(columns: Sequence[SchemaColumn | PromotedColumnRow]) -> dict[str, object]:
    return {
        "names": [column.name for column in columns],
        "types": [column.kql_type for column in columns],
        "most": BLOCKERS_SHOWN + 1,
    }


def refuse_blocked(blockers: Sequence[str], message: str, **ids: object) -> None:
    """Raise StillReferenced with the first of what refers to an entry, if anything does."""
    if blockers:
        shown = ", ".join(blockers[:BLOCKERS_SHOWN])
        more = ", ..." if len(blockers) > BLOCKERS_SHOWN else ""
        raise StillReferenced(message, **ids, blockers=shown + more)
