"""Care of resources: notes, labels and contexts of every kind, in lists, figures and commands."""

import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient, resources_pb2
from segplane.cli.output import NONE, Answer, Fact, facts, listing, message_dict
from segplane.cli.parameters import Option, Positional

PAGE_LIMIT = 1_000
_LOCK = ("locked_at", "locked_by", "lock_reason", "lock_ends_at")
STDIN = "-"
Labels = Annotated[
    list[str] | None,
    Positional(metavar="[KEY=VALUE]...", help="Labels to set; without, show them."),
]
Removed = Annotated[list[str] | None, Option("--remove", metavar="KEY", help="Remove a label.")]
Note = Annotated[str | None, Positional(metavar="[TEXT]", help="The note; '' removes it.")]
Context = Annotated[
    str | None,
    Option(
        metavar="FILE",
        help="File of a JSON object, at most 64 KiB, in place of the present context; - is stdin, "
        "'' removes it.",
    ),
]
ExpectedVersion = Annotated[
    str | None,
    Option(
        metavar="VERSION",
        help="Change it only if it still has this version: `version` here, `resource_version` of "
        "`show`, with --json.",
    ),
]


class ListedState(Enum):
    """States of resources."""

    LIVE = "live"
    DELETED = "deleted"


class Order(Enum):
    """Orders of lists."""

    NAME = "name"
    CREATED = "created"
    CHANGED = "changed"


def _filters(
    *,
    label: Annotated[
        str | None, Option(metavar="KEY=VALUE", help="Only those with this label.")
    ] = None,
    context: Annotated[
        str | None,
        Option(metavar="KEY=VALUE", help="Only those whose context has this member."),
    ] = None,
    state: Annotated[ListedState | None, Option(help="Only those in this state.")] = None,
    name_from: Annotated[str | None, Option(help="Only names from this one on.")] = None,
    name_to: Annotated[str | None, Option(help="Only names below this one.")] = None,
    order: Annotated[Order | None, Option(help="Order, with one filter at most.")] = None,
    descending: Annotated[bool, Option(help="The other way round.")] = False,
) -> None:
    """Give the options of a filtered list."""


_FILTERS = inspect.signature(_filters).parameters


def filtered(function: Callable[..., Any], kind: str) -> Callable[..., Answer]:
    """Return the command of a list that also takes filters, and then shows labels and notes."""

    def run(**values: Any) -> Answer:
        own = {name: value for name, value in values.items() if name not in _FILTERS}
        filters = {name: values[name] for name in _FILTERS if values[name]}
        if not filters:
            answer: Answer = function(**own)
            return answer
        return _listing(_pages(values["client"], _list_request(kind, **filters)))

    return _like(run, function, _FILTERS)


def shown(function: Callable[..., Any], kind: str) -> Callable[..., Answer]:
    """Return the command that shows one item, with its note, labels and context."""

    def run(*arguments: Any, **values: Any) -> Answer:
        answer: Answer = function(*arguments, **values)
        client = values.get("client") or arguments[0]
        resource = _resource_of(client, kind, answer.data)
        if resource is None:
            return answer
        data, text = answer.data, list(answer.text)
        if not isinstance(data, list):
            data = _plain(data) | _care(resource)
        return replace(answer, data=data, text=chain(text, _aligned(text, _facts(resource))))

    return _like(run, function, {})


def _like(
    run: Callable[..., Answer], function: Callable[..., Any], more: Mapping[str, inspect.Parameter]
) -> Callable[..., Answer]:
    """Return a function with the help and the parameters of another one, and some more."""
    signature = inspect.signature(function)
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), *more.values()]
    )
    run.__doc__ = function.__doc__
    run.__name__ = function.__name__
    return run


def label_command(kind: str, key: Positional) -> Callable[..., Answer]:
    """Return the command that changes and shows the labels of a kind."""

    def label(
        client: MetaClient,
        name: Annotated[str, key],
        labels: Labels = None,
        remove: Removed = None,
        expected_version: ExpectedVersion = None,
    ) -> Answer:
        """Set and remove labels, or show them; other labels stay."""
        change: dict[str, Any] = {}
        if labels or remove:
            pairs = (_pair(text, "label") for text in labels or ())
            change = {"set_labels": dict(pairs), "remove_labels": remove or ()}
        resource = _changed(client, kind, name, change, expected_version)
        return Answer(resource, (f"{k}={v}" for k, v in sorted(resource.labels.items())))

    return label


def note_command(kind: str, key: Positional) -> Callable[..., Answer]:
    """Return the command that changes and shows the note and the context of a kind."""

    def note(
        client: MetaClient,
        name: Annotated[str, key],
        text: Note = None,
        context: Context = None,
        expected_version: ExpectedVersion = None,
    ) -> Answer:
        """Write a note about it or give it a context of your own, or show both."""
        change: dict[str, Any] = {} if text is None else {"note": text}
        if context is not None:
            change["context"] = _read(context)
        resource = _changed(client, kind, name, change, expected_version)
        texts = (resource.note, resource.context)
        return Answer(resource, [text.rstrip("\n") for text in texts if text])

    return note


def _read(file: str) -> str:
    """Return the text of a file, of stdin, or none for no name."""
    if file == STDIN:
        return sys.stdin.read()
    return Path(file).read_text(encoding="utf-8") if file else ""


def _kind_number(kind: str) -> Any:
    return resources_pb2.ResourceKind.Value(f"RESOURCE_KIND_{kind}")


def _changed(
    client: MetaClient, kind: str, name: str, change: Mapping[str, Any], version: str | None
) -> "resources_pb2.Resource":
    """Change a resource and return it; without a change, only read it."""
    named = {"id": name} if kind == "INGEST_TOKEN" else {"name": name}
    ref = resources_pb2.ResourceRef(kind=_kind_number(kind), **named)
    if not change:
        return client.resources.GetResource(resources_pb2.GetResourceRequest(resource=ref)).resource
    request = resources_pb2.UpdateResourceRequest(resource=ref, expected_version=version, **change)
    return client.resources.UpdateResource(request).resource


def _pair(text: str, what: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise usage(f"{what} {text!r} is not KEY=VALUE")
    return key, value


def _list_request(
    kind: str,
    *,
    label: str | None = None,
    context: str | None = None,
    state: ListedState | None = None,
    order: Order | None = None,
    **others: Any,
) -> "resources_pb2.ListResourcesRequest":
    request = resources_pb2.ListResourcesRequest(
        kind=_kind_number(kind), limit=PAGE_LIMIT, **others
    )
    for field, text in (("label", label), ("context_member", context)):
        if text is not None:
            key, value = _pair(text, field.partition("_")[0])
            getattr(request, field).CopyFrom(resources_pb2.ResourceMember(key=key, value=value))
    if state is not None:
        request.state = resources_pb2.ResourceState.Value(f"RESOURCE_STATE_{state.name}")
    if order is not None:
        request.order = resources_pb2.ResourceOrder.Value(f"RESOURCE_ORDER_{order.name}")
    return request


def _pages(
    client: MetaClient, request: "resources_pb2.ListResourcesRequest"
) -> "Iterator[resources_pb2.Resource]":
    while True:
        page = client.resources.ListResources(request)
        yield from page.items
        if not page.next_cursor:
            return
        request.after = page.next_cursor


def _listing(items: "Iterable[resources_pb2.Resource]") -> Answer:
    return listing(
        items,
        {
            "id": "id",
            "name": "name",
            "labels": _labels,
            "updated": "updated_at",
            "note": lambda resource: resource.note.partition("\n")[0],
        },
    )


def _labels(resource: "resources_pb2.Resource") -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(resource.labels.items()))


def _resource_of(client: MetaClient, kind: str, data: Any) -> "resources_pb2.Resource | None":
    """Return the resource of what a command has shown; None if this meta has none."""
    from meta.errors import Unimplemented

    if isinstance(data, list):
        data = data[0]
    id_ = data.get("id") if isinstance(data, Mapping) else getattr(data, "id", "")
    if not id_:
        return None
    try:
        ref = resources_pb2.ResourceRef(kind=_kind_number(kind), id=id_)
        return client.resources.GetResource(resources_pb2.GetResourceRequest(resource=ref)).resource
    except Unimplemented:
        return None


def _plain(data: Any) -> dict[str, Any]:
    return dict(data) if isinstance(data, Mapping) else message_dict(data)


def _care(resource: "resources_pb2.Resource") -> dict[str, object]:
    """Return note, labels and context for programs, and the version of all of it."""
    return {
        "note": resource.note if resource.HasField("note") else None,
        "labels": dict(resource.labels),
        "context": json.loads(resource.context) if resource.HasField("context") else None,
        "resource_version": resource.version,
        **_lock_facts(resource),
    }


def _facts(resource: "resources_pb2.Resource") -> Iterator[Fact]:
    if resource.note:
        yield "note", resource.note
    if resource.labels:
        yield "labels", _labels(resource) or NONE
    if resource.context:
        yield "context", resource.context.rstrip("\n")
    for name, value in _lock_facts(resource).items():
        yield name.replace("_", " "), value


def _lock_facts(resource: Any) -> dict[str, str]:
    return {name: getattr(resource, name) for name in _LOCK if resource.HasField(name)}


def _aligned(text: list[str], pairs: Iterable[Fact]) -> Iterator[str]:
    """Yield names and values in the columns of lines that precede them."""
    width = max((len(line.partition("  ")[0]) for line in text), default=0)
    return facts([(name.ljust(width), value) for name, value in pairs])
