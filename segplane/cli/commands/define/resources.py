"""segplane resources: notes, labels, contexts and locks of every kind."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

from segplane.cli.care import Kind, care_facts, labels
from segplane.cli.command import command, group
from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient
from segplane.cli.messages import resources_pb2 as pb
from segplane.cli.options import nanos_of
from segplane.cli.output import Answer, facts, listing
from segplane.cli.parameters import Option, Positional

PAGE_LIMIT = 1_000
STDIN = "-"
NOT_WITNESSED = (
    "this meta keeps no witness in the bucket: a database that is restored from a backup of before"
    " the lock does not know it"
)
KindOf = Annotated[Kind, Positional(help="Kind of resource.")]
Name = Annotated[str, Positional(help="Name or id; a token has only an id.")]
Reason = Annotated[str, Option("--reason", help="Shown to everybody whom the lock refuses.")]
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
    ref = _resource(kind, name)
    change: dict[str, Any] = {
        "title": title,
        "note": note,
        "context": None if context is None else _text_of(context),
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


@command(app, "resources lock datasets checkout --reason 'audit of 2026'")
def lock(
    client: MetaClient,
    kind: KindOf,
    name: Name,
    reason: Reason,
    until: Annotated[str | None, Option(metavar="TIME")] = None,
) -> Answer:
    """Refuse every change and deletion of it. The token that ends the lock is printed once.

    On a dataset it is a legal hold: records are taken and merged, and none is deleted.

    Options:
        until: The lock ends by itself at this time: RFC 3339, or a length of time from now
            such as 90d.
    """
    request = pb.LockResourceRequest(resource=_resource(kind, name), reason=reason)
    if until is not None:
        request.ends_at_nanos = _end_of(until)
    reply = client.resources.LockResource(request)
    notes = ["keep the line above, it is not stored"]
    if not reply.is_witnessed:
        notes.append(NOT_WITNESSED)
    return Answer(reply, [reply.token], notes)


@command(app, "resources unlock datasets checkout --token-file lock.token")
def unlock(
    client: MetaClient,
    kind: KindOf,
    name: Name,
    token_file: Annotated[str | None, Option(metavar="FILE")] = None,
    break_lock: Annotated[bool, Option("--break")] = False,
    reason: str = "",
) -> Answer:
    """End its lock. A deletion that fell due under it is made a day later at the earliest.

    Options:
        token_file: File with the token that `lock` printed; - reads standard input.
        break_lock: End it without the token, as an admin. It is audited.
        reason: With --break, why; kept in the audit log.
    """
    if break_lock == (token_file is not None):
        raise usage("give --token-file, or --break with --reason")
    ref = _resource(kind, name)
    if token_file is None:
        return Answer(client.resources.BreakLock(pb.BreakLockRequest(resource=ref, reason=reason)))
    request = pb.UnlockResourceRequest(resource=ref, token=_text_of(token_file).strip())
    return Answer(client.resources.UnlockResource(request))


def _resource(kind: Kind, name: str) -> "pb.ResourceRef":
    from segments.ids import is_canonical_uuid

    if kind is Kind.INGEST_TOKEN or is_canonical_uuid(name):
        return pb.ResourceRef(kind=kind.number, id=name)
    return pb.ResourceRef(kind=kind.number, name=name)


def _member(text: str, what: str) -> "pb.ResourceMember":
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise usage(f"{what} {text!r} is not KEY=VALUE")
    return pb.ResourceMember(key=key, value=value)


def _text_of(file: str) -> str:
    """Return the text of a file, of stdin, or none for no name."""
    try:
        if file == STDIN:
            return sys.stdin.read()
        return Path(file).read_text(encoding="utf-8") if file else ""
    except (OSError, UnicodeDecodeError) as error:
        raise usage(f"{file} cannot be read: {error}") from None


def _pages(client: MetaClient, request: "pb.ListResourcesRequest") -> "Iterator[pb.Resource]":
    while True:
        page = client.resources.ListResources(request)
        yield from page.items
        if not page.next_cursor:
            return
        request.after = page.next_cursor


def _end_of(text: str) -> int:
    """Return nanoseconds since the epoch of a time, or of a length of time from now."""
    from segplane.terminal.times import parse_age

    try:
        return int((datetime.now(UTC) + parse_age(text)).timestamp() * 1_000_000) * 1_000
    except OverflowError:
        raise usage(f"--until: {text!r} is too far away") from None
    except ValueError:
        return nanos_of(text, "--until")
