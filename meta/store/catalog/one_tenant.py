"""Entries that refer to one another belong to one tenant.

A caller of a tenant reaches no other. An operator who names no tenant finds the ids of all, and a
view of one tenant must never read a dataset of another.
"""

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, text

from meta.errors import InvalidArgument
from meta.store.engine import scope
from meta.store.engine.pool import Transaction

_TENANTS = text("SELECT count(DISTINCT tenant_key) FROM resources WHERE id = ANY(:ids)").bindparams(
    bindparam("ids", type_=ARRAY(Uuid))
)


def require(tx: Transaction, ids: Iterable[UUID | None]) -> None:
    """Raise InvalidArgument if datasets, schemas, views, projections or tokens are of several.

    None stands for an entry that does not refer to another.
    """
    distinct_ids = list({entry_id for entry_id in ids if entry_id is not None})
    if scope.tenant_key() is not None or len(distinct_ids) < 2:
        return
    if tx.execute(_TENANTS, {"ids": distinct_ids}).scalar_one() > 1:
        raise InvalidArgument("the entries belong to different tenants")
