"""Translation of the driver's errors to the errors that callers get."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from meta.errors import (
    MetaError,
    NameTaken,
    NotFound,
    QuotaExceeded,
    RaceLost,
    StatementTimeout,
    StillReferenced,
    Unavailable,
)
from meta.store.engine.operator_causes import cause_of, is_of_policy

# Serialization failure, deadlock, lock timeout, a prepared plan older than the schema: retried.
STALE_PLAN_SQLSTATE = "0A000"
RETRIED_SQLSTATES = frozenset({"40001", "40P01", "55P03", STALE_PLAN_SQLSTATE})
# Longest wait of a call for a connection of the pool.
POOL_SECS = 10


class OptionsRefused(Exception):
    """A pooler such as PgBouncer takes no options of connections, or no transactions."""


class Conflict(Exception):
    """The transaction lost to another and may be run again. Never leaves meta."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


class TimelineChanged(Conflict):
    """The counter that was read belongs to another history: adopt the server's, then read again."""

    def __init__(self) -> None:
        super().__init__("timeline")


class DrawRefused(Conflict):
    """No version may be drawn before the database is compared with its witness."""

    def __init__(self) -> None:
        super().__init__("witness")


@contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's errors into MetaError or Conflict."""
    try:
        yield
    except DBAPIError as error:
        raise translate(error) from error
    except PoolTimeout as error:
        raise Unavailable(
            f"no database connection within {POOL_SECS} s: all of META_DATABASE_POOL are in use"
        ) from error
    except SQLAlchemyError as error:
        raise Unavailable("the database is not answering") from error


def translate(error: DBAPIError) -> Exception:
    """Translate a database error to the error that the caller gets."""
    return translate_driver(error.orig, is_lost=error.connection_invalidated) or error


def translate_driver(cause: BaseException | None, *, is_lost: bool) -> Exception | None:
    """Translate an error of psycopg, `is_lost` if its connection is; None = not for callers."""
    sqlstate = getattr(cause, "sqlstate", None)
    if sqlstate in RETRIED_SQLSTATES:
        return Conflict(sqlstate)
    if isinstance(cause, psycopg.errors.IntegrityError):
        return _refused_by_constraint(cause)
    if (refusal := _of_call(cause)) is not None:
        return refusal
    if any(refusal in str(cause) for refusal in _POOLER_REFUSALS):
        return OptionsRefused()
    if (operators := cause_of(cause)) is not None:
        return Unavailable(operators.remedy, sqlstate=sqlstate or "", cause=operators.value)
    if is_lost or isinstance(cause, psycopg.OperationalError):
        return Unavailable("the database is not answering", sqlstate=sqlstate or "")
    return None


def _of_call(cause: BaseException | None) -> MetaError | None:
    """The refusal of a call whose statement the database is right to refuse; None = another."""
    if isinstance(cause, psycopg.errors.QueryCanceled):
        return StatementTimeout("the query took longer than META_STATEMENT_TIMEOUT_MS")
    if isinstance(cause, psycopg.errors.NumericValueOutOfRange):
        return QuotaExceeded("a total of the dataset would exceed 2^63 - 1")
    return NotFound("there is no such entry") if is_of_policy(cause) else None


# PgBouncer as it is installed, and in statement mode.
_POOLER_REFUSALS = ("unsupported startup parameter", "not allowed in statement pooling mode")
# Constraints that a name breaks which another entry has.
_NOUNS = {
    "datasets_name_live_unique": "dataset",
    "datasets_tenant_name_live_unique": "dataset",
    "datasets_group_name_live_unique": "dataset",
    "groups_tenant_name_live_unique": "group",
    "schemas_name_unique": "schema",
    "schemas_tenant_name_unique": "schema",
    "views_name_unique": "view",
    "views_tenant_name_unique": "view",
    "projections_name_unique": "projection",
    "projections_tenant_name_unique": "projection",
    "ingest_tokens_name_unique": "ingest token",
    "ingest_tokens_tenant_name_unique": "ingest token",
    "tenants_name_live_unique": "tenant",
}


def _refused_by_constraint(cause: psycopg.errors.IntegrityError) -> MetaError:
    name = cause.diag.constraint_name or ""
    if name in _NOUNS:
        return NameTaken(f"another {_NOUNS[name]} has this name")
    if isinstance(cause, psycopg.errors.ForeignKeyViolation):
        is_missing = re.search(r"is not present", cause.diag.message_detail or "")
        if is_missing:
            return NotFound("a referenced row is gone", constraint=name)
        return StillReferenced("other rows refer to it", constraint=name)
    return RaceLost("another call changed the same rows", constraint=name)
