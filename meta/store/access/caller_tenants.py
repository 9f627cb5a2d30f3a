"""Tenants as rules of credentials and operators name them."""

from collections.abc import Collection

from sqlalchemy import text

from meta.access import CallerTenant
from meta.store.access import tenant_shares
from meta.store.engine.pool import Transaction

_FIND = text(f"""
    SELECT key, id, name, suspended_at IS NOT NULL, {tenant_shares.in_force("key")} FROM tenants
    WHERE (name = ANY(cast(:names AS text[])) OR '//' || id = ANY(cast(:references AS text[])))
      AND deleted_at IS NULL
""")  # noqa: S608


def find(tx: Transaction, names: Collection[str]) -> dict[str, CallerTenant]:
    """The tenants that have these names now, or are named by their ids, `//id`; by what is asked.

    An installation has 10,000 tenants at most.
    """
    references = [name for name in names if name.startswith("//")]
    values = {"names": list(names), "references": references}
    by_name: dict[str, CallerTenant] = {}
    for row in tx.execute(_FIND, values):
        key, tenant_id, name, is_suspended, shares = row
        in_force = tenant_shares.made(shares)
        tenant = CallerTenant(key, tenant_id, name, is_suspended, in_force)
        by_name |= {tenant.name: tenant, tenant.reference: tenant}
    return {name: by_name[name] for name in names if name in by_name}
