"""segplane streams: committed, merged and deleted offsets of ingest streams."""

from typing import Annotated

import typer

from meta.v1 import nursery_pb2 as pb
from meta.v1 import operations_pb2
from segplane.connection import DEFAULT_ADDRESS, MetaAddress, connect
from segplane.dataplane.stream_poll import read_streams
from segplane.lookup import segment_url
from segplane.output import NONE, AsJson, print_json, print_table, time_text

app = typer.Typer(no_args_is_help=True, help="Show ingest streams and their offsets.")


@app.command("list")
def list_(address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """List active streams, and stopped ones that are not drained. -1 means none yet."""
    with connect(address) as client:
        streams = read_streams(client)
    if as_json:
        print_json(streams)
        return
    headers = ("stream", "collector", "state", "committed", "merged", "deleted", "waiting")
    print_table((*headers, "last activity"), [_row(stream) for stream in streams])


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


def _row(stream: pb.IngestStreamInfo) -> tuple[object, ...]:
    merged = min((d.merged_offset for d in stream.datasets), default=stream.committed_offset)
    return (
        stream.stream_id,
        stream.collector_id,
        "stopped" if stream.HasField("stopped_offset") else "active",
        stream.committed_offset,
        merged,
        stream.deleted_offset,
        stream.committed_offset - merged,
        time_text(stream.last_activity_nanos),
    )
