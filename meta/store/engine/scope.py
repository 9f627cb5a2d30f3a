"""The scope of the current call in statements: its tenant, and the datasets that it may see.

A caller of a tenant, or one limited to some datasets, does not find the others. Parameters take
their values from the caller when the statement runs, so nothing in between passes them on.
"""

from typing import Any
from uuid import UUID

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Integer,
    Select,
    TextClause,
    bindparam,
    text,
)
from sqlalchemy.sql import or_

from meta import access
from meta.access import TenantScope
from meta.errors import NotFound, RoleRefused


def current() -> TenantScope:
    """The scope of the current call; everything outside of calls."""
    return access.current.get().scope


def tenant_key() -> int | None:
    """The key of the caller's tenant; None = the caller reaches all."""
    return current().tenant_key


def naming_key() -> int:
    """The key of the tenant in which the caller's names are looked up."""
    return current().naming_key


# Parameters of statements: `:tenant` for ids, NULL = of all, and `:naming_tenant` for names.
TENANT: BindParameter[int | None] = bindparam("tenant", callable_=tenant_key, type_=Integer)
NAMING_TENANT: BindParameter[int] = bindparam("naming_tenant", callable_=naming_key, type_=Integer)


def reaches(rows: str) -> str:
    """The condition that the caller reaches a row of `rows`, which has a tenant's key."""
    return f"(cast(:tenant AS integer) IS NULL OR {rows}.tenant_key = :tenant)"


def is_reached(column: "Column[int]") -> ColumnElement[bool]:
    """The same for statements of SQLAlchemy, by the column of the key."""
    return or_(TENANT.is_(None), column == TENANT)


def of_tenant(query: "Select[Any]", column: "Column[int]") -> "Select[Any]":
    """A query of the rows that the caller reaches, by an index that begins with the column."""
    return query if tenant_key() is None else query.where(column == TENANT)


def statement(sql: str) -> TextClause:
    """A statement with the parameters `:tenant` and `:naming_tenant`, as far as it names them."""
    made = text(sql)
    parameters = (TENANT, NAMING_TENANT)
    return made.bindparams(*(each for each in parameters if each.key in made._bindparams))


def require_all() -> None:
    """Raise RoleRefused unless the caller is an operator who names no tenant."""
    if current() != access.EVERYTHING:
        raise RoleRefused("only an operator who names no tenant may list all of them")


def visible_ids() -> list[UUID] | None:
    """Ids of the visible datasets, some of which may be deleted; None = all of the tenant."""
    ids = current().dataset_ids
    return None if ids is None else sorted(ids)


def is_visible(dataset_id: UUID) -> bool:
    """True unless the caller is limited to other datasets; statements look at its tenant."""
    ids = current().dataset_ids
    return ids is None or dataset_id in ids


def require(dataset_id: UUID) -> None:
    """Raise NotFound, as for a dataset that does not exist, unless the caller may see it."""
    if not is_visible(dataset_id):
        raise NotFound("there is no such dataset", dataset_id=dataset_id)
