"""The end of an upgrade: no meta of an earlier release may serve the database any more.

Calls that such a meta would not obey, such as one that sets a lock, are refused before.
"""

from sqlalchemy import text

from meta.errors import UpgradeUnfinished
from meta.store.engine.pool import Transaction

# The least release of a database whose upgrade is finished.
FINISHED_RELEASE = "0.4.0.dev0"
# The same in SQL. All releases below it begin with 0.1, 0.2 or 0.3.
IS_FINISHED = "(SELECT coalesce(least_release !~ '^0[.][1-3][.]', false) FROM meta_state)"
# The names that were unique in an installation, and are in a tenant since revision 0079.
CONTRACTIONS = (
    "DROP INDEX IF EXISTS datasets_name_live_unique, datasets_names, dataset_visibility_names",
    *(
        f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {table}_name_unique"
        for table in ("schemas", "views", "projections", "ingest_tokens")
    ),
)
_IS_FINISHED = text(f"SELECT {IS_FINISHED}")


def contract(tx: Transaction) -> None:
    """Drop what only earlier releases need; the role owns the tables."""
    for statement in CONTRACTIONS:
        tx.execute(text(statement))


def is_finished(tx: Transaction) -> bool:
    """True if no meta of an earlier release may serve the database."""
    return bool(tx.execute(_IS_FINISHED).scalar_one())


def require_finished(tx: Transaction, what: str) -> None:
    """Raise UpgradeUnfinished, which names what needs it, unless the upgrade is finished."""
    if not is_finished(tx):
        raise UpgradeUnfinished(
            f"{what} needs a database that no meta of an earlier release serves: once all metas are"
            " upgraded, run `segplane migrate --finish`"
        )
