"""segplane quarantine: payloads that could not be merged, and what becomes of them."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from segplane.cli.command import command, group
from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient
from segplane.cli.options import AcceptLoss, Reason, dataset_id, require_loss_accepted
from segplane.cli.output import Answer, facts, listing, size_text, time_text
from segplane.cli.parameters import Option, Positional

if TYPE_CHECKING:
    from segplane.recovery.whole_babies import ReplayedBaby

app = group()
SAMPLE = "quarantine/0197c9a2-7f3e-7000-8000-000000000001/17.0"
Key = Annotated[str, Positional(help="Key, as `quarantine list` shows it.")]


@command(app, "quarantine list --cause undecodable", "list")
def list_(
    client: MetaClient,
    stream: str = "",
    dataset: str = "",
    cause: str = "",
    limit: Annotated[int, Option(min=1, max=10_000)] = 100,
    after: str = "",
) -> Answer:
    """List payloads in the quarantine, a page at a time, from the bucket; a tenant's own for it.

    A page with a filter may be short or empty: it also ends after 10,000 payloads. The key to
    continue behind is printed on stderr.

    Options:
        stream: Of one stream, by id.
        dataset: Meant for one dataset, by name.
        cause: Such as undecodable, no_route, corrupt_slice.
        limit: Most payloads to print.
        after: Continue behind this key.
    """
    from segplane.recovery import tenant_quarantine

    if tenant_quarantine.is_of_tenant(client):
        filters = {"stream_id": stream, "dataset": dataset, "cause": cause}
        page = tenant_quarantine.list_page(client, filters, after, limit)
    else:
        from segments.inventory.quarantine import QuarantineFilter, list_page
        from segplane.recovery import quarantine

        chosen = QuarantineFilter(stream, dataset_id(client, dataset), cause)
        _, store = quarantine.open_quarantine(client)
        page = list_page(store, chosen, after, limit)
    return listing(
        page.items,
        {
            "key": "key",
            "size": lambda item: size_text(item.size_bytes),
            "dataset": lambda item: item.dataset_id or "",
            "put at": lambda item: time_text(item.modified_at_nanos),
            "cause": lambda item: item.cause.partition(":")[0],
        },
        notes=[f"more may follow: --after {page.next_after}"] * bool(page.next_after),
    )


@command(app, f"quarantine show {SAMPLE}")
def show(client: MetaClient, key: Key) -> Answer:
    """Show one payload and the full text of its cause."""
    from segplane.recovery import quarantine, tenant_quarantine

    if tenant_quarantine.is_of_tenant(client):
        item = tenant_quarantine.find(client, key)
    else:
        _, store = quarantine.open_quarantine(client)
        item = quarantine.find(store, key)
    return Answer(item, facts(dataclasses.asdict(item).items()))


@command(app, f"quarantine replay {SAMPLE} --dataset web")
def replay(
    client: MetaClient,
    key: Key,
    dataset: str = "",
    file: Path | None = None,
    as_is: bool = False,
    sound_payloads: bool = False,
    uncounted: bool = False,
    reason: Reason = "",
) -> Answer:
    """Put a payload's records into a dataset, exactly once, and delete it here.

    Those of a whole baby segment go to the datasets that its stamps name. It may be repeated after
    a crash. Cannot be undone.

    Options:
        dataset: Dataset name; unset: the one that it was meant for.
        file: Sound bytes of the payload, or a sound copy of the whole baby segment.
        as_is: Take a payload's damaged bytes, if they decode; records that violate the dataset's
            schema, with nulls; records outside its window of deduplication; or a copy of a baby
            segment that does not end with its checksum.
        sound_payloads: Of a whole baby segment, take the payloads that its own checksums prove.
        uncounted: Take a payload whose registration the catalog has forgotten, after a rebuild.
            Refused if its records may be rows.
    """
    from segplane.recovery import quarantine, tenant_quarantine
    from segplane.recovery.losses import acceptance

    if sound_payloads and not quarantine.is_whole(key):
        raise usage("--sound-payloads is for baby segments; add --as-is to take damaged bytes")
    if uncounted and dataset:
        raise usage("--uncounted and --dataset exclude each other")
    if sound_payloads and file is not None:
        raise usage("--sound-payloads and --file exclude each other")
    if tenant_quarantine.is_of_tenant(client):
        if file is not None or sound_payloads:
            raise usage("--file and --sound-payloads are an operator's")
        body = {"as_is": as_is, "uncounted": uncounted, "reason": reason, "dataset": dataset}
        reply = tenant_quarantine.replay(client, key, body)
        return Answer(reply, [_visible(reply["version"], reply["segments"])])
    id_, consent = dataset_id(client, dataset), acceptance(reason)
    if quarantine.is_whole(key):
        baby = quarantine.replay_whole(
            client, key, id_, consent, file=file, is_as_is=as_is, is_sound_only=sound_payloads
        )
        return Answer(baby, _baby_lines(baby))
    done = quarantine.replay(
        client, key, id_, consent, file=file, is_as_is=as_is, is_uncounted=uncounted
    )
    return Answer(done, [_visible(done.version, len(done.segment_ids))])


def _visible(version: int, num_segments: int) -> str:
    return f"visible from version {version} on, in {num_segments} segments"


def _baby_lines(done: "ReplayedBaby") -> Iterator[str]:
    if done.replayed:
        yield (
            f"{done.replayed} payloads visible from version {done.version} on,"
            f" in {done.num_segments} segments"
        )
    if done.quarantined:
        yield (
            f"{done.quarantined} payloads without a dataset, or undecodable, are in the quarantine"
        )
    if done.damaged:
        yield f"{done.damaged} payloads are damaged: the baby segment stays in the quarantine"


@command(app, f"quarantine drop {SAMPLE} --accept-loss")
def drop(
    client: MetaClient,
    key: Key,
    accept_loss: AcceptLoss = False,
    held_elsewhere: bool = False,
    reason: Reason = "",
) -> Answer:
    """Give a payload up: write it to the loss ledger and delete it. Cannot be undone.

    Options:
        held_elsewhere: Instead of a loss: delete an uncounted payload whose records are rows, or in
            the quarantine by another registration. A nursery that died while a schema changed
            leaves such payloads, and `segplane fsck` counts them. Refused if a record could be
            lost.
    """
    from segplane.recovery import quarantine, tenant_quarantine
    from segplane.recovery.losses import acceptance

    if tenant_quarantine.is_of_tenant(client):
        if not held_elsewhere:
            require_loss_accepted(accept_loss, "payload are lost")
        body = {"accept_loss": accept_loss, "held_elsewhere": held_elsewhere, "reason": reason}
        done = tenant_quarantine.discard(client, key, body)
        return Answer(done, [f"discarded {key}"])
    if held_elsewhere:
        quarantine.drop(client, key, acceptance(reason), is_held=True)
        return Answer({"deleted": key}, [f"deleted {key}: its records are held elsewhere"])
    require_loss_accepted(accept_loss, "payload are lost")
    reply = quarantine.drop(client, key, acceptance(reason))
    return Answer(reply, [f"dropped at version {reply.version}"])
