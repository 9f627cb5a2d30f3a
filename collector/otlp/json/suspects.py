"""The first member of an export that may be misspelt: its path, and what it may mean."""

import json
from collections.abc import Mapping

from collector.otlp.json.messages import UnknownMembers

NAME_LENGTH_MAX = 100


def spelling_of(tree: Mapping[str, object], unknown: UnknownMembers) -> str:
    """Return where the first suspicious member is and what it may mean; "" if there is none."""
    if unknown.suspect is None:
        return ""
    owner, name, meant = unknown.suspect
    place = "".join(_path_to(tree, owner)).removeprefix(".")
    return f"{place + ': ' if place else ''}{quoted(name)} is unknown, did you mean {meant}?"


def _path_to(tree: object, owner: Mapping[str, object]) -> list[str]:
    """Return the path to an object, which is somewhere in the tree, from its beginning on."""
    pending: list[tuple[object, list[str]]] = [(tree, [])]
    while pending:
        value, path = pending.pop()
        if value is owner:
            return path
        below: list[tuple[object, list[str]]] = []
        if isinstance(value, dict):
            below = [(child, [*path, f".{_shortened(name)}"]) for name, child in value.items()]
        elif isinstance(value, list):
            below = [(child, [*path, f"[{index}]"]) for index, child in enumerate(value)]
        pending += reversed(below)
    return []


def quoted(name: str) -> str:
    """Return a member's name as JSON text of bounded length."""
    return json.dumps(_shortened(name))


def _shortened(name: str) -> str:
    return name if len(name) <= NAME_LENGTH_MAX else f"{name[:NAME_LENGTH_MAX]}..."
