"""segplane streams: offsets of ingest streams, and the way past a damaged baby segment."""

from collections.abc import Mapping
from typing import Annotated

from segplane.cli.command import command, group
from segplane.cli.commands.repair.losses import LOSS_COLUMNS
from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient, operations_pb2
from segplane.cli.messages import nursery_pb2 as pb
from segplane.cli.options import AcceptLoss, Reason, require_loss_accepted
from segplane.cli.output import (
    NONE,
    Answer,
    Columns,
    cell,
    facts,
    listing,
    message_dict,
    table,
    time_text,
)
from segplane.cli.parameters import Positional

app = group()
SAMPLE = "0197c9a2-7f3e-7000-8000-000000000001"
StreamId = Annotated[
    str, Positional(metavar="STREAM", help="Stream id, as `streams list` shows it.")
]


@command(app, "streams list", "list")
def list_(client: MetaClient) -> Answer:
    """List active streams, and stopped ones that are not drained. -1 means none yet."""
    from dataplane.stream_poll import read_streams
    from segplane.recovery.losses import list_parked

    infos = read_streams(client)
    parked = {row.stream_id: row for row in list_parked(client)}
    rows = listing(infos, _columns(parked)).text
    return Answer(infos, (*rows, *(_parked_text(row) for row in parked.values())))


@command(app, f"streams show {SAMPLE} 17")
def show(
    client: MetaClient,
    stream: StreamId,
    offset: Annotated[int | None, Positional(min=0)] = None,
) -> Answer:
    """Show one stream: its offsets, the baby that it waits at, and records given up.

    Options:
        offset: Show instead which segments hold the records of the baby segment at this offset now,
            through all merges.
    """
    from dataplane.stream_poll import read_streams
    from segplane.recovery.losses import list_losses, list_parked

    if offset is not None:
        return _located(client, stream, offset)
    info = next((info for info in read_streams(client) if info.stream_id == stream), None)
    if info is None:
        raise usage(f"there is no stream {stream} that is not drained")
    parked = {row.stream_id: row for row in list_parked(client) if row.stream_id == stream}
    losses = list(list_losses(client, stream))
    pairs = [(name, cell(info, column)) for name, column in _columns(parked).items()]
    if info.principal:
        pairs.insert(1, ("principal", info.principal))
    datasets = [(d.dataset_id, d.merged_offset) for d in info.datasets]
    text = [
        *facts(pairs),
        *table(("dataset", "merged"), datasets),
        *(_parked_text(row) for row in parked.values()),
        *(listing(losses, LOSS_COLUMNS).text if losses else ()),
    ]
    data = message_dict(info)
    if parked:
        data["parked"] = parked[stream]
    return Answer(data, text)


def _located(client: MetaClient, stream: str, offset: int) -> Answer:
    from segplane.read.lookup import segment_url

    request = operations_pb2.LocateOffsetRequest(stream_id=stream, offset=offset)
    reply = client.operations.LocateOffset(request)
    state = "not committed" if not reply.committed else "reaped" if reply.reaped else "committed"
    rows = [
        (location.dataset_id, "merged" if location.merged else "waiting", url)
        for location in reply.locations
        for url in [segment_url(segment) for segment in location.segments] or [NONE]
    ]
    lines = table(("dataset", "state", "segment"), rows)
    return Answer(reply, (f"baby segment {offset}: {state}", *lines))


@command(app, f"streams skip {SAMPLE} 17 --accept-loss")
def skip(
    client: MetaClient,
    stream: StreamId,
    offset: Annotated[int, Positional(min=0)],
    accept_loss: AcceptLoss = False,
    reason: Reason = "",
) -> Answer:
    """Give up a baby segment that cannot be read, so that its stream continues. Cannot be undone.

    Its records are lost and are written to the loss ledger. They are never merged afterwards, even
    if the object comes back: restore the object first if you can.

    Options:
        offset: Offset that the stream is parked at.
    """
    from segplane.recovery.losses import acceptance

    require_loss_accepted(accept_loss, "baby segment are lost")
    request = operations_pb2.SkipOffsetRequest(
        stream_id=stream, offset=offset, acceptance=acceptance(reason)
    )
    reply = client.operations.SkipOffset(request)
    rows = listing(reply.losses, LOSS_COLUMNS).text
    return Answer(reply, (f"skipped at version {reply.version}", *rows))


def _columns(
    parked: "Mapping[str, operations_pb2.ParkedStream]",
) -> "Columns[pb.IngestStreamInfo]":
    def state(stream: "pb.IngestStreamInfo") -> str:
        is_stopped = stream.HasField("stopped_offset")
        if stream.awaits_reconcile:
            return "awaits reconcile"
        return "parked" if stream.stream_id in parked else "stopped" if is_stopped else "active"

    def merged(stream: "pb.IngestStreamInfo") -> int:
        return min((d.merged_offset for d in stream.datasets), default=stream.committed_offset)

    return {
        "stream": "stream_id",
        "collector": "collector_id",
        "state": state,
        "committed": "committed_offset",
        "merged": merged,
        "deleted": "deleted_offset",
        "waiting": lambda stream: stream.committed_offset - merged(stream),
        "last activity": lambda stream: time_text(stream.last_activity_nanos),
    }


def _parked_text(parked: "operations_pb2.ParkedStream") -> str:
    since = time_text(parked.parked_at_nanos)
    return f"parked: {parked.stream_id} at offset {parked.offset} since {since}: {parked.reason}"
