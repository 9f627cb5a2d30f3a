"""Tenants that let metrics name their datasets, which everyone who reads metrics sees."""

from sqlalchemy import text

from meta.access import DEFAULT_TENANT
from meta.errors import InvalidArgument
from meta.store.access import audit
from meta.store.engine.pool import Transaction

_ALLOW = text("""
    INSERT INTO metric_names (tenant_key) VALUES (:key)
    ON CONFLICT (tenant_key) DO UPDATE SET tenant_key = excluded.tenant_key
""")
_REFUSE = text("DELETE FROM metric_names WHERE tenant_key = :key")
_IS_ALLOWED = text("SELECT EXISTS (SELECT FROM metric_names WHERE tenant_key = :key)")


def set_allowed(tx: Transaction, tenant_key: int, *, is_allowed: bool) -> None:
    """Let metrics name the datasets of a tenant, or not; again, it changes nothing.

    Raises InvalidArgument for `default`, whose names META_DATASET_METRICS allows.
    """
    if tenant_key == DEFAULT_TENANT:
        raise InvalidArgument("name a tenant: META_DATASET_METRICS is the setting of default")
    values = {"key": tenant_key}
    if tx.execute(_IS_ALLOWED, values).scalar_one() == is_allowed:
        return
    tx.execute(_ALLOW if is_allowed else _REFUSE, values)
    audit.note(tx, "SetMetricNames", "", "allowed" if is_allowed else "not allowed")
