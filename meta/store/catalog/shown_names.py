"""SQL of the names by which others call datasets: `group/name`, or the name alone.

A dataset of the default group has no group. Its name may hold a `/`, from a release before 0.3.0,
and no group has the name of the part before its first slash. So a text means one dataset at most
in a tenant. Operators who name no tenant read those of other tenants than `default` as
`//tenant/group/name`. Statements take the tenant of names from `meta.store.engine.scope`.
"""

from sqlalchemy import ColumnElement, Integer, Text, case, literal, literal_column

from meta.store.engine.scope import NAMING_TENANT, statement

# The parts of a name before and behind its first slash; one without a slash has no group.
_GROUP = "CASE WHEN strpos({name}, '/') > 0 THEN split_part({name}, '/', 1) END"
_OWN = "substr({name}, strpos({name}, '/') + 1)"
NAMING = ":naming_tenant"


def _of_tenant(dataset: str) -> str:
    """The beginning of the name of a dataset of another tenant than that of names."""
    return f"'//' || (SELECT t.name FROM tenants t WHERE t.key = {dataset}.tenant_key) || '/'"  # noqa: S608


def _prefix(dataset: str, naming: str) -> str:
    return f"CASE WHEN {dataset}.tenant_key = {naming} THEN '' ELSE {_of_tenant(dataset)} END"


def in_tenant(dataset: str) -> str:
    """The name of today of the rows `dataset`, as callers of its tenant read it."""
    return (
        f"CASE WHEN {dataset}.group_id IS NULL THEN {dataset}.name ELSE (SELECT g.name"  # noqa: S608
        f" FROM groups g WHERE g.id = {dataset}.group_id) || '/' || {dataset}.name END"
    )


def of(dataset: str) -> str:
    """The name of today of the rows `dataset` of datasets."""
    return f"({_prefix(dataset, NAMING)} || {in_tenant(dataset)})"


def column(dataset: str = "datasets") -> ColumnElement[str]:
    """The same for statements of SQLAlchemy."""
    of_tenant = literal_column(f"({_of_tenant(dataset)})", Text)
    is_plain = literal_column(f"{dataset}.tenant_key", Integer) == NAMING_TENANT
    prefix = case((is_plain, literal("", Text)), else_=of_tenant)
    return prefix.concat(literal_column(f"({in_tenant(dataset)})", Text))


def at(dataset: str, interval: str, version: str, naming: str = NAMING) -> str:
    """The name that a dataset had at a version, in the row `interval` of its visibility.

    `group_prefix` is a function of the database: it is not called for a dataset without a group.
    """
    group = (
        f"CASE WHEN {interval}.name IS NULL THEN {dataset}.group_id ELSE {interval}.group_id END"
    )
    name = f"coalesce({interval}.name, {dataset}.name)"
    prefix = f"coalesce(group_prefix({group}, {version}), '')"
    return f"({_prefix(dataset, naming)} || {prefix} || {name})"


def is_live(dataset: str, name: str) -> str:
    """The condition that a live dataset of the caller's tenant is called `name` today."""
    return f"""
        {dataset}.deleted_at IS NULL AND {dataset}.tenant_key = {NAMING} AND (
          {dataset}.group_id IS NULL AND {dataset}.name = {name}
          OR {dataset}.group_id = (SELECT g.id FROM groups g WHERE g.deleted_at IS NULL
                                   AND g.tenant_key = {NAMING}
                                   AND g.name = {_GROUP.format(name=name)})
             AND {dataset}.name = {_OWN.format(name=name)})
    """  # noqa: S608


def keys(names: str, naming: str = NAMING) -> str:
    """The keys of a tenant's datasets that have or had one of an array of names, and perhaps more.

    More, because a group of a former name may not have had the dataset at that time. Groups are
    looked up by a function of the database, which names without a slash never call.
    """
    return f"""
        SELECT key FROM datasets
        WHERE tenant_key = {naming} AND group_id IS NULL AND name = ANY({names}) UNION ALL
        SELECT dataset_key FROM dataset_visibility
        WHERE tenant_key = {naming} AND group_id IS NULL AND name = ANY({names}) UNION ALL
        SELECT key FROM dataset_keys_in_groups({names}, {naming}) key
        WHERE strpos(array_to_string({names}, ''), '/') > 0
    """  # noqa: S608


def is_called(dataset: str = "datasets", parameter: str = "dataset_name") -> ColumnElement[bool]:
    """The condition `is_live` of a statement with a parameter."""
    return statement(is_live(dataset, f"cast(:{parameter} AS text)"))  # type: ignore[return-value]
