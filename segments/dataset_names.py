"""Names that a new dataset cannot have, because a door reads them in another way.

Datasets that have such a name from before keep it, and can be renamed.
"""

# Schemas of the SQL engines, in any case; the folders of a path.
_SCHEMAS = frozenset(["information_schema", "pg_catalog", "main", "temp", "system"])
_FOLDERS = frozenset([".", ".."])


def reserved(name: str) -> str:
    """Return why no new dataset has this name, or "" if one may have it."""
    if "/" in name:
        return "a slash is reserved"
    if name in _FOLDERS:
        return "it is a folder of every path"
    if name.lower() in _SCHEMAS:
        return "it is a schema of SQL engines"
    return ""
