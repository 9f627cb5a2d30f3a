"""The rule for equal names in an object of JSON: the first counts."""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value")


def first_of_each(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    """Make an object of a JSON reader's pairs, in order; of duplicate names the first counts."""
    members = dict(pairs)
    if len(members) < len(pairs):
        members = dict(reversed(pairs))
        members = {name: members[name] for name, _ in pairs}
    return members
