"""Names of stores, and the folder that names one in the keys of a dataset's merged segments."""

import re

FOLDER = "store-"
_NAME = re.compile("[a-z0-9][a-z0-9-]{0,30}")
# Part of a regular expression; its group is the name.
STORE_FOLDER = rf"(?:{FOLDER}({_NAME.pattern})/)?"
# Length of dataset/<uuid>/merged/, behind which the folder begins.
FOLDER_AT = 52
_PLACE = re.compile(rf"dataset/[0-9a-f-]{{36}}/merged/{STORE_FOLDER}")


def check_store_name(name: str) -> str:
    """Return a name that a named store may have, else raise ValueError."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"store name {name!r} must have 1 to 31 lower-case letters, digits and hyphens, and"
            " begin with no hyphen"
        )
    return name


def store_folder(store: str) -> str:
    """Return the folder of a named store with its slash; "" for the default store."""
    return f"{FOLDER}{check_store_name(store)}/" if store else ""


def store_of(key: str) -> str:
    """Return the name of the store that has an object; "" is the default store.

    A key names its store, so an object stays where its key says, even after the configuration
    changes.
    """
    place = _PLACE.match(key)
    return (place[1] or "") if place else ""
