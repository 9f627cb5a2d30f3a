"""The Postgres role of transactions of tenants' callers.

A transaction takes role and tenant until its end: neither outlives a commit, a rollback or a
cancelled statement, so a connection returns to the pool with the role of its login. Policies of
row-level security read the tenant (`meta.migrations.tenant_policies`).
"""

import re
from collections.abc import MutableMapping
from typing import Any

from sqlalchemy import Connection

from meta.errors import CallerRoleRequired, RoleRefused
from meta.process.exits import ConfigError

# The parameter that a policy reads; unset or emptied, no row has this tenant.
TENANT_PARAMETER = "segplane.tenant"
# Names that need no quotes. Postgres reserves the prefix pg_.
_NAME = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
_RESERVED = frozenset({"none", "public", "current_role", "current_user", "session_user"})
# Key of a connection's info.
_ROLE = "caller_role"
# Of a transaction, as its first statement.
_TAKE = f"SELECT set_config('role', %s, true), set_config('{TENANT_PARAMETER}', %s, true)"

_HAS_SEVERAL = "SELECT EXISTS (SELECT FROM tenants WHERE key <> 0)"


def checked(name: str) -> str:
    """A name that a role of callers may have, "" = none. Raises ConfigError."""
    if name and (_NAME.fullmatch(name) is None or name in _RESERVED):
        raise ConfigError(
            f"META_DATABASE_CALLER_ROLE is {name!r}, not a role in lower case, digits and _, such"
            " as segplane_callers"
        )
    return name


def attach(info: MutableMapping[Any, Any], role: str) -> None:
    """Let transactions on a connection know the role of their server, "" = none."""
    info[_ROLE] = role


def require(tx: Connection) -> None:
    """Raise CallerRoleRequired unless the server has a role of callers, which its start checked."""
    if not tx.info.get(_ROLE):
        raise CallerRoleRequired(
            "a second tenant needs a Postgres role for the work of tenants' callers: set"
            " META_DATABASE_CALLER_ROLE"
        )


def take(tx: Connection, role: str, tenant_key: int | None) -> None:
    """Give a transaction the role and a tenant, None = none, until its end."""
    tx.exec_driver_sql(_TAKE, (role, "" if tenant_key is None else str(tenant_key)))


def require_sole(tx: Connection) -> None:
    """Raise RoleRefused if there is a tenant besides `default`, deleted ones too.

    First in the transactions of a call that is not known to be safe with several. Entries of
    another tenant are committed after its row, so no snapshot shows them without it.
    """
    if tx.exec_driver_sql(_HAS_SEVERAL).scalar_one():
        raise RoleRefused("the call is for operators, since there are several tenants")


def taken(tx: Connection) -> tuple[Any, ...]:
    """The role and the tenant that the session has now, "" = no tenant."""
    statement = f"SELECT current_user, coalesce(current_setting('{TENANT_PARAMETER}', true), '')"
    return tuple(tx.exec_driver_sql(statement).one())
