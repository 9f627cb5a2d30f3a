"""segplane quarantine: payloads that could not be merged, and what becomes of them."""

import dataclasses
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meta.client import MetaClient
from meta.v1 import catalog_pb2, operations_pb2
from segments.errors import SegmentsError
from segplane.cli.commands.losses import AcceptLoss, Reason
from segplane.cli.connection import (
    DEFAULT_ADDRESS,
    EXIT_REFUSED,
    MetaAddress,
    complain,
    connect,
    usage,
)
from segplane.cli.output import (
    NONE,
    AsJson,
    print_facts,
    print_json,
    print_table,
    size_text,
    time_text,
)
from segplane.recovery import quarantine
from segplane.recovery.losses import acceptance
from segplane.recovery.payload_replay import ReplayRefused
from segplane.recovery.uncounted import discard_held

if TYPE_CHECKING:
    from segplane.recovery.whole_babies import ReplayedBaby

app = typer.Typer(
    no_args_is_help=True, help="List payloads that could not be merged, replay or drop them."
)
SoundFile = Annotated[
    Path | None,
    typer.Option(
        "--file", help="Sound bytes of the payload, or a sound copy of the whole baby segment."
    ),
]
AsIs = Annotated[
    bool,
    typer.Option(
        "--as-is",
        help="Take a payload's damaged bytes, if they decode; records that do not conform to the"
        " dataset's schema, with nulls; events outside its window; or a copy of a baby segment that"
        " does not end with its checksum.",
    ),
]
Uncounted = Annotated[
    bool,
    typer.Option(
        "--uncounted",
        help="Take a payload whose registration the catalog has forgotten, after a rebuild. Refused"
        " if its records may be rows.",
    ),
]
SoundPayloads = Annotated[
    bool,
    typer.Option(
        "--sound-payloads",
        help="Of a whole baby segment, take the payloads that its own checksums prove.",
    ),
]
Key = Annotated[str, typer.Argument(help="Key, as `quarantine list` shows it.")]


@app.command("list")
def list_(
    stream: Annotated[str, typer.Option(help="Of one stream, by id.")] = "",
    dataset: Annotated[str, typer.Option(help="Meant for one dataset, by name.")] = "",
    cause: Annotated[str, typer.Option(help="Such as undecodable, no_route, corrupt_slice.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Most payloads to print.")] = 100,
    after: Annotated[str, typer.Option(help="Continue behind this key.")] = "",
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """List payloads in the quarantine, a page at a time, from the bucket.

    A page with a filter may be short or empty: it also ends after 10,000 payloads. The key to
    continue behind is printed below it; with --json on stderr.
    """
    with connect(address) as client, _refusals():
        chosen = quarantine.QuarantineFilter(stream, _dataset_id(client, dataset), cause)
        _, store = quarantine.open_quarantine(client)
        page = quarantine.list_page(store, chosen, after, limit)
    if as_json:
        print(json.dumps([dataclasses.asdict(item) for item in page.items], indent=2))
        if page.next_after:
            print(f"more may follow: --after {page.next_after}", file=sys.stderr)
        return
    headers = ("key", "size", "dataset", "put at", "cause")
    rows = [
        (
            item.key,
            size_text(item.size_bytes),
            item.dataset_id or NONE,
            time_text(item.modified_at_nanos),
            item.cause.partition(":")[0],
        )
        for item in page.items
    ]
    print_table(headers, rows)
    if page.next_after:
        print(f"more may follow: --after {page.next_after}")


@app.command()
def show(key: Key, address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """Show one payload and the full text of its cause."""
    with connect(address) as client, _refusals():
        _, store = quarantine.open_quarantine(client)
        item = quarantine.find(store, key)
    if as_json:
        print(json.dumps(dataclasses.asdict(item), indent=2))
    else:
        print_facts(list(dataclasses.asdict(item).items()))


@app.command()
def replay(
    key: Key,
    dataset: Annotated[
        str, typer.Option(help="Dataset name; unset: the one that it was meant for.")
    ] = "",
    file: SoundFile = None,
    as_is: AsIs = False,
    sound_payloads: SoundPayloads = False,
    uncounted: Uncounted = False,
    reason: Reason = "",
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Put a payload's records into a dataset, exactly once, and delete it here.

    Those of a whole baby segment go to the datasets that its stamps name. It may be repeated after
    a crash. Cannot be undone.
    """
    if sound_payloads and not quarantine.is_whole(key):
        raise usage("--sound-payloads is for baby segments; add --as-is to take damaged bytes")
    if (sound_payloads and file is not None) or (uncounted and dataset):
        what = (
            "--uncounted and --dataset" if uncounted and dataset else "--sound-payloads and --file"
        )
        raise usage(f"{what} exclude each other")
    with connect(address) as client, _refusals():
        dataset_id, consent = _dataset_id(client, dataset), acceptance(reason)
        if quarantine.is_whole(key):
            baby = quarantine.replay_whole(
                client,
                key,
                dataset_id,
                consent,
                file=file,
                is_as_is=as_is,
                is_sound_only=sound_payloads,
            )
            _print_baby(baby, as_json)
            return
        done = quarantine.replay(
            client,
            key,
            dataset_id,
            consent,
            file=file,
            is_as_is=as_is,
            is_uncounted=uncounted,
        )
    _print_replay(done, as_json)


def _print_replay(done: operations_pb2.Replay, as_json: bool) -> None:
    if as_json:
        print_json(done)
    else:
        print(f"visible from version {done.version} on, in {len(done.segment_ids)} segments")


def _print_baby(done: "ReplayedBaby", as_json: bool) -> None:
    if as_json:
        print(json.dumps(dataclasses.asdict(done), indent=2))
        return
    if done.replayed:
        print(
            f"{done.replayed} payloads visible from version {done.version} on,"
            f" in {done.num_segments} segments"
        )
    if done.quarantined:
        print(
            f"{done.quarantined} payloads without a dataset, or undecodable, are in the quarantine"
        )
    if done.damaged:
        print(f"{done.damaged} payloads are damaged: the baby segment stays in the quarantine")


@app.command()
def drop(
    key: Key,
    accept_loss: AcceptLoss = False,
    reason: Reason = "",
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Give a payload up: write it to the loss ledger and delete it. Cannot be undone."""
    if not accept_loss:
        raise usage("the records of the payload are lost; add --accept-loss if they may be")
    with connect(address) as client, _refusals():
        reply = quarantine.drop(client, key, acceptance(reason))
    print(f"dropped at version {reply.version}")


@app.command()
def discard(key: Key, reason: Reason = "", address: MetaAddress = DEFAULT_ADDRESS) -> None:
    """Delete an uncounted payload whose records are rows, or in the quarantine by another verdict.

    Such payloads are left by a nursery that died while a schema changed; `segplane fsck` counts
    them. Refused if a record could be lost.
    """
    with connect(address) as client, _refusals():
        discard_held(client, key, acceptance(reason))
    print(f"deleted {key}: its records are held elsewhere")


def _dataset_id(client: MetaClient, name: str) -> str:
    if not name:
        return ""
    return client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name)).id


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn refusals into one line and an exit code."""
    try:
        yield
    except (ReplayRefused, SegmentsError, OSError) as error:
        complain(str(error))
        raise typer.Exit(EXIT_REFUSED) from None
