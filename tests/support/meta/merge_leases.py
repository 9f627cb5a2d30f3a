"""Leases of merge tasks, moved into the past."""

from tests.support.meta.server import MetaServer


def let_leases_pass(meta_server: MetaServer) -> None:
    """Move every lease into the past."""
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql(
            "UPDATE merge_tasks SET free_at = now() - interval '1 s' WHERE free_at IS NOT NULL"
        )
