"""segplane resources: notes, labels and contexts of every kind."""

from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any

from segplane.cli.care import Kind, care_facts, labels
from segplane.cli.command import command, group
from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient
from segplane.cli.messages import resources_pb2 as pb
from segplane.cli.output import Answer, facts, listing
from segplane.cli.parameters import Option, Positional
from segplane.cli.resource_locks import Name, reference, text_of

PAGE_LIMIT = 1_000
KindOf = Annotated[Kind, Positional(help="Kind of resource.")]
app = group()


class ListedState(Enum):
    """States of resources."""

    LIVE = "live"
    DELETED = "deleted"


class Order(Enum):
    """Orders of lists."""

    NAME = "name"
    CREATED = "created"
    CHANGED = "changed"


@command(app, "resources list datasets --label team=payments", "list")
def list_(
    client: MetaClient,
    kind: KindOf,
    label: Annotated[str | None, Option(metavar="KEY=VALUE")] = None,
    context: Annotated[str | None, Option(metavar="KEY=VALUE")] = None,
    state: ListedState | None = None,
    name_from: str | None = None,
    name_to: str | None = None,
    order: Order | None = None,
    descending: bool = False,
) -> Answer:
    """List the resources of a kind with their labels and notes, by one filter and in one order.

    Options:
        label: Only those with this label.
        context: Only those whose context has this member.
        state: Only those in this state.
        name_from: Only names from this one on.
        name_to: Only names below this one.
        order: Order, with one filter at most.
        descending: The other way round.
    """
    request = pb.ListResourcesRequest(
        kind=kind.number,
        limit=PAGE_LIMIT,
        name_from=name_from,
        name_to=name_to,
        descending=descending,
        state=pb.ResourceState.Value(f"RESOURCE_STATE_{state.name if state else 'UNSPECIFIED'}"),
        order=pb.ResourceOrder.Value(f"RESOURCE_ORDER_{order.name if order else 'UNSPECIFIED'}"),
        label=None if label is None else _member(label, "label"),
        context_member=None if context is None else _member(context, "context"),
    )
    return listing(
        _pages(client, request),
        {
            "id": "id",
            "name": "name",
            "labels": labels,
            "updated": "updated_at",
            "note": lambda resource: resource.note.partition("\n")[0],
        },
    )


@command(app, "resources update datasets checkout --label team=payments")
def update(
    client: MetaClient,
    kind: KindOf,
    name: Name,
    title: str | None = None,
    note: str | None = None,
    label: Annotated[list[str] | None, Option(metavar="KEY=VALUE")] = None,
    remove_label: Annotated[list[str] | None, Option(metavar="KEY")] = None,
    context: Annotated[str | None, Option(metavar="FILE")] = None,
    expected_version: Annotated[str | None, Option(metavar="VERSION")] = None,
) -> Answer:
    """Change what is kept with a resource, and show it; without an option, show it.

    Options:
        title: Title of a dataset; '' removes it.
        note: Text for people; '' removes it.
        label: Label to set; other labels stay.
        remove_label: Label to remove.
        context: File of a JSON object, at most 64 KiB, in place of the present context; - is stdin,
            '' removes it.
        expected_version: Change it only if it still has this version: `version` here,
            `resource_version` of `show`, with --json.
    """
    ref = reference(client, kind, name)
    change: dict[str, Any] = {
        "title": title,
        "note": note,
        "context": None if context is None else text_of(context),
        "set_labels": {m.key: m.value for m in (_member(text, "label") for text in label or ())},
        "remove_labels": remove_label or (),
    }
    if not any(value or value == "" for value in change.values()):
        reply = client.resources.GetResource(pb.GetResourceRequest(resource=ref)).resource
    else:
        request = pb.UpdateResourceRequest(
            resource=ref, expected_version=expected_version, **change
        )
        reply = client.resources.UpdateResource(request).resource
    return Answer(reply, facts(care_facts(reply)))


def _member(text: str, what: str) -> "pb.ResourceMember":
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise usage(f"{what} {text!r} is not KEY=VALUE")
    return pb.ResourceMember(key=key, value=value)


def _pages(client: MetaClient, request: "pb.ListResourcesRequest") -> "Iterator[pb.Resource]":
    while True:
        page = client.resources.ListResources(request)
        yield from page.items
        if not page.next_cursor:
            return
        request.after = page.next_cursor
