"""Tenants as rules of credentials and operators name them."""

from collections.abc import Collection

from sqlalchemy import text

from meta.access import CallerTenant
from meta.store.engine.pool import Transaction

_BY_NAMES = text("""
    SELECT key, id, name, suspended_at IS NOT NULL FROM tenants
    WHERE name = ANY(cast(:names AS text[])) AND deleted_at IS NULL
""")


def find(tx: Transaction, names: Collection[str]) -> dict[str, CallerTenant]:
    """The tenants that have these names now, by name."""
    tenants = (CallerTenant(*row) for row in tx.execute(_BY_NAMES, {"names": list(names)}))
    return {tenant.name: tenant for tenant in tenants}
