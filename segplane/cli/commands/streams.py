"""segplane streams: offsets of ingest streams, and the way past a damaged baby segment."""

from collections.abc import Mapping
from typing import Annotated

import typer

from dataplane.stream_poll import read_streams
from meta.v1 import nursery_pb2 as pb
from meta.v1 import operations_pb2
from segplane.cli.commands.losses import AcceptLoss, Reason, print_losses
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect, usage
from segplane.cli.output import NONE, AsJson, print_facts, print_json, print_table, time_text
from segplane.read.lookup import segment_url
from segplane.recovery.losses import acceptance, list_losses, list_parked

app = typer.Typer(
    no_args_is_help=True, help="Show ingest streams and their offsets; pass what cannot be read."
)


@app.command("list")
def list_(address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """List active streams, and stopped ones that are not drained. -1 means none yet."""
    with connect(address) as client:
        streams = read_streams(client)
        parked = {parked_stream.stream_id: parked_stream for parked_stream in list_parked(client)}
    if as_json:
        print_json(streams)
        return
    headers = ("stream", "collector", "state", "committed", "merged", "deleted", "waiting")
    print_table((*headers, "last activity"), [_row(stream, parked) for stream in streams])
    for stream in streams:
        if stream.stream_id in parked:
            print(f"parked: {_parked_text(parked[stream.stream_id])}")


@app.command()
def show(
    stream: Annotated[str, typer.Argument(help="Stream id, as `streams list` shows it.")],
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Show one stream: its offsets, the baby that it waits at, and records given up."""
    with connect(address) as client:
        infos = [info for info in read_streams(client) if info.stream_id == stream]
        parked = {
            parked_stream.stream_id: parked_stream
            for parked_stream in list_parked(client)
            if parked_stream.stream_id == stream
        }
        losses = list(list_losses(client, stream))
    if not infos:
        raise usage(f"there is no stream {stream} that is not drained")
    if as_json:
        print_json(infos[0], **({"parked": parked[stream]} if parked else {}))
        return
    headers = ("collector", "state", "committed", "merged", "deleted", "waiting", "last activity")
    principal = [("principal", infos[0].principal)] if infos[0].principal else []
    rows = zip(headers, _row(infos[0], parked)[1:], strict=True)
    print_facts([("stream", stream), *principal, *rows])
    print_table(("dataset", "merged"), [(d.dataset_id, d.merged_offset) for d in infos[0].datasets])
    if parked:
        print(f"parked: {_parked_text(parked[stream])}")
    if losses:
        print_losses(losses)


@app.command()
def skip(
    stream: Annotated[str, typer.Argument(help="Stream id, as `streams list` shows it.")],
    offset: Annotated[int, typer.Argument(min=0, help="Offset that the stream is parked at.")],
    accept_loss: AcceptLoss = False,
    reason: Reason = "",
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Give up a baby segment that cannot be read, so that its stream continues. Cannot be undone.

    Its records are lost and are written to the loss ledger. They are never merged afterwards, even
    if the object comes back: restore the object first if you can.
    """
    if not accept_loss:
        raise usage("the records of the baby segment are lost; add --accept-loss if they may be")
    with connect(address) as client:
        request = operations_pb2.SkipOffsetRequest(
            stream_id=stream, offset=offset, acceptance=acceptance(reason)
        )
        reply = client.operations.SkipOffset(request)
    if as_json:
        print_json(reply)
        return
    print(f"skipped at version {reply.version}")
    print_losses(reply.losses)


@app.command()
def locate(
    stream: Annotated[str, typer.Argument(help="Stream id, as `streams list` shows it.")],
    offset: Annotated[int, typer.Argument(min=0, help="Offset of one baby segment.")],
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Show which segments hold the records of one baby segment now, through all merges."""
    with connect(address) as client:
        request = operations_pb2.LocateOffsetRequest(stream_id=stream, offset=offset)
        reply = client.operations.LocateOffset(request)
    if as_json:
        print_json(reply)
        return
    state = "not committed" if not reply.committed else "reaped" if reply.reaped else "committed"
    print(f"baby segment {offset}: {state}")
    rows = [
        (location.dataset_id, "merged" if location.merged else "waiting", url)
        for location in reply.locations
        for url in [segment_url(segment) for segment in location.segments] or [NONE]
    ]
    print_table(("dataset", "state", "segment"), rows)


def _parked_text(parked: operations_pb2.ParkedStream) -> str:
    since = time_text(parked.parked_at_nanos)
    return f"{parked.stream_id} at offset {parked.offset} since {since}: {parked.reason}"


def _row(
    stream: pb.IngestStreamInfo, parked: Mapping[str, operations_pb2.ParkedStream]
) -> tuple[object, ...]:
    is_stopped = stream.HasField("stopped_offset")
    state = "parked" if stream.stream_id in parked else "stopped" if is_stopped else "active"
    merged = min((d.merged_offset for d in stream.datasets), default=stream.committed_offset)
    return (
        stream.stream_id,
        stream.collector_id,
        state,
        stream.committed_offset,
        merged,
        stream.deleted_offset,
        stream.committed_offset - merged,
        time_text(stream.last_activity_nanos),
    )
