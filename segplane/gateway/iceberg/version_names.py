"""Names of tables that ask for a version of a dataset."""

import re

# Trino takes no @ in a name.
_AT_VERSION = re.compile(r"(.+)(?:@|__v)([0-9]{1,18})", re.DOTALL)


def split_version(name: str) -> tuple[str, int] | None:
    """Return the name of a dataset and the version that a table's name may ask for."""
    match = _AT_VERSION.fullmatch(name)
    return None if match is None else (match[1], int(match[2]))
