"""Lookups: the version to read at, the datasets that are visible at it, positions of pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Row

from meta.errors import InvalidArgument, NotFound, VersionExpired
from meta.store.catalog import dataset_names, shown_names
from meta.store.engine import continuity, scope
from meta.store.engine.pool import Transaction
from meta.store.versions import versions
from meta.store.versions.clock import NOW
from meta.store.versions.versions import CounterSnapshot

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Position:
    """The last segment of a page; the next page begins behind it."""

    dataset_key: int
    dur_class: int
    start_ns: int
    segment_id: UUID


class VisibleDataset(NamedTuple):
    """A dataset as it was visible at the version that is read."""

    key: int
    id: UUID


class TenantParameters(NamedTuple):
    """SQL of the condition that a row `d` of datasets is reached, and of the key of names."""

    is_reached: str
    naming: str


def datasets_sql(
    version: str, names: str, visible: str, tenants: TenantParameters, *, names_all: bool = False
) -> str:
    """SQL of the datasets that are visible at a version: some by their names then, or all.

    They have names if they are asked for by name, or with `names_all`.
    """
    names, visible = f"cast({names} AS text[])", f"cast({visible} AS uuid[])"
    naming = tenants.naming
    name = shown_names.at("d", "v", version, naming)
    shown = name if names_all else f"CASE WHEN {names} IS NOT NULL THEN {name} END"
    return f"""
    SELECT d.key, d.id, {shown} AS name, d.deletion_horizon,
           d.pins_horizon IS NOT DISTINCT FROM d.deletion_horizon AND EXISTS (
             SELECT FROM pins p WHERE p.dataset_key = d.key AND p.version = {version}
               AND p.expires_at > {NOW}) AS is_pinned
    FROM datasets d JOIN dataset_visibility v ON v.dataset_key = d.key
    WHERE ({names} IS NULL OR d.key = ANY(ARRAY({shown_names.keys(names, naming)})))
      AND ({names} IS NULL OR {name} = ANY({names}))
      AND ({visible} IS NULL OR d.id = ANY({visible}))
      AND {tenants.is_reached}
      AND v.from_version <= {version} AND (v.to_version IS NULL OR v.to_version > {version})
    ORDER BY d.key
    """  # noqa: S608


_TENANTS = TenantParameters(scope.reaches("d"), ":naming_tenant")
_DATASETS = scope.statement(
    datasets_sql(":version", ":names", ":visible", _TENANTS, names_all=True)
)
_BY_ID = scope.statement(datasets_sql(":version", "NULL", "ARRAY[:id]", _TENANTS, names_all=True))


def readable_version(
    tx: Transaction,
    snapshot: CounterSnapshot,
    requested: int | None,
    *,
    field: str = "as_of_version",
) -> int:
    """The version to read at: the wanted one, or the current. Raises VersionExpired."""
    if requested is None:
        return snapshot.version
    if requested > snapshot.version:
        continuity.look_soon(tx.info)
        raise InvalidArgument(
            f"{field} is {requested}, the current version is {snapshot.version}", field=field
        )
    if versions.is_lost(tx, requested):
        raise VersionExpired("the version was lost in a failover or restore", version=requested)
    return requested


def visible_datasets(
    tx: Transaction, names: Sequence[str], version: int
) -> tuple[VisibleDataset, ...]:
    """The datasets of these names, or all that the caller may see, as they were at `version`.

    A dataset has the name that it had then. Names and their datasets never change at a version, so
    every page of a cursor gets the same.
    Raises NotFound for an unknown name, VersionExpired if objects may be deleted.
    """
    visible = scope.visible_ids()
    values = {"names": list(names) or None, "version": version, "visible": visible}
    rows = tx.execute(_DATASETS, values).all()
    if unknown := set(names) - {row.name for row in rows}:
        raise dataset_names.missing(tx, min(unknown))
    return _readable(rows, version)


def visible_dataset(tx: Transaction, identifier: UUID | str, version: int) -> VisibleDataset:
    """A dataset by id, or as text by the name that it had at `version`.

    Raises NotFound, VersionExpired if objects may be deleted.
    """
    if isinstance(identifier, str):
        return visible_datasets(tx, [identifier], version)[0]
    rows = tx.execute(_BY_ID, {"id": identifier, "version": version}).all()
    if not rows or not scope.is_visible(identifier):
        raise NotFound("there is no such dataset", dataset=identifier)
    return _readable(rows, version)[0]


def _readable(rows: Sequence[Row[*tuple[Any, ...]]], version: int) -> tuple[VisibleDataset, ...]:
    for row in rows:
        if version < row.deletion_horizon and not row.is_pinned:
            raise VersionExpired(
                "objects of the version may be deleted",
                version=version,
                dataset_name=row.name,
                deletion_horizon=row.deletion_horizon,
            )
    return tuple([VisibleDataset(row.key, row.id) for row in rows])
