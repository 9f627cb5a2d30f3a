"""Changes of catalog entries that another person may be changing at the same time."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from segplane.cli.connection import refusal
from segplane.cli.messages import MetaClient, catalog_pb2
from segplane.cli.parameters import Option

if TYPE_CHECKING:
    from google.protobuf.message import Message

ExpectedVersion = Annotated[
    str | None,
    Option(
        metavar="VERSION",
        help="Change it only if it still has this version, which --json shows; without it, the "
        "version that the command reads first.",
    ),
]
# Fields that a person does not change by this call.
_ABOUT = frozenset(("authors", "created_at", "version"))


def catalog_call(client: MetaClient, method: str, /, **fields: object) -> Any:
    """Call CatalogService by a method's name, whose request has these fields."""
    return getattr(client.catalog, method)(getattr(catalog_pb2, f"{method}Request")(**fields))


def update_entry(
    client: MetaClient, kind: str, name: str, expected_version: str | None, /, **changes: object
) -> Any:
    """Change an entry of a kind, such as View, unless another call has changed it since."""
    read = partial(catalog_call, client, f"Get{kind}", name=name)
    before = read()
    expected = expected_version or before.version or None
    with refused_with_differences(before, read):
        return catalog_call(
            client, f"Update{kind}", id=before.id, expected_version=expected, **changes
        )


@contextmanager
def refused_with_differences(before: "Message", read: Callable[[], "Message"]) -> Iterator[None]:
    """Name another call's changes if they refuse this one; `read` reads the entry again."""
    from meta.errors import RaceLost

    try:
        yield
    except RaceLost as error:
        changed = "; ".join(differences(before, read()))
        raise refusal(
            f"{error.message}{': ' if changed else ''}{changed} ({error.reason})"
        ) from None


def differences(before: "Message", after: "Message") -> list[str]:
    """Each field of an entry that has another value now, with both values."""
    old, new = _values(before), _values(after)
    return [
        f"{field} was {_shown(old.get(field))} and is {_shown(new.get(field))}"
        for field in sorted(old.keys() | new.keys())
        if old.get(field) != new.get(field)
    ]


def _values(entry: "Message") -> dict[str, object]:
    """The values of an entry by their fields; those of a message in it by `field.part`."""
    from google.protobuf.json_format import MessageToDict

    values: dict[str, object] = {}
    for field, value in MessageToDict(entry, preserving_proto_field_name=True).items():
        if field in _ABOUT:
            continue
        if isinstance(value, dict):
            values |= {f"{field}.{part}": each for part, each in value.items()}
        else:
            values[field] = value
    return values


def _shown(value: object) -> str:
    return "not set" if value is None else json.dumps(value)
