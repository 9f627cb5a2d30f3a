"""Names of datasets and groups, and those that a new one cannot have.

A dataset of a group is called `group/name`. A name that a door reads in another way is reserved.
Datasets that have such a name from before keep it, and can be renamed.
"""

from dataclasses import dataclass

# Schemas of the SQL engines, in any case; the folders of a path.
_SCHEMAS = frozenset(["information_schema", "pg_catalog", "main", "temp", "system"])
_FOLDERS = frozenset([".", ".."])
# The default group's names in Iceberg and Kusto.
DEFAULT_NAMESPACE = "default"
DEFAULT_DATABASE = "segplane"
# The tenant of what came back without one, which operators alone see. Nobody can create it.
UNASSIGNED = "unassigned"
_DEFAULTS = frozenset([DEFAULT_NAMESPACE, DEFAULT_DATABASE])


@dataclass(frozen=True, slots=True)
class DatasetName:
    """The name of a dataset in its group; None = the default group."""

    group: str | None
    base_name: str

    def __str__(self) -> str:
        return self.base_name if self.group is None else f"{self.group}/{self.base_name}"


def parse(name: str) -> DatasetName:
    """Split a name at its first slash; one without a slash is of the default group."""
    group, slash, own_name = name.partition("/")
    return DatasetName(group, own_name) if slash else DatasetName(None, name)


def in_tenant(name: str) -> str:
    """The name in its tenant of one that an operator reads, which may begin with `//tenant/`."""
    return name.removeprefix("//").partition("/")[2] if name.startswith("//") else name


def reserved(name: str) -> str:
    """Return why no new dataset has this name in its group, or "" if one may have it."""
    if "/" in name:
        return "a slash is reserved"
    if name in _FOLDERS:
        return "it is a folder of every path"
    if name.lower() in _SCHEMAS:
        return "it is a schema of SQL engines"
    return ""


def reserved_for_groups(name: str) -> str:
    """Return why no new group has this name, or "" if one may have it."""
    return "it is the default group" if name.lower() in _DEFAULTS else reserved(name)
