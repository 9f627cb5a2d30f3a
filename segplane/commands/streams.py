"""segplane streams: how far collectors have written and nurseries have merged."""

import typer

from meta.v1 import nursery_pb2 as pb
from segplane.connection import DEFAULT_ADDRESS, MetaAddress, connect
from segplane.output import AsJson, print_json, print_table, time_text

app = typer.Typer(no_args_is_help=True, help="See ingest streams and their offsets.")


@app.command("list")
def list_(address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """List active streams, and stopped ones that are not drained. -1 means none yet."""
    with connect(address) as client:
        reply = client.nursery.GetIngestStreamsForNursery(pb.GetIngestStreamsRequest())
    if as_json:
        print_json(reply.streams)
        return
    headers = ("stream", "collector", "state", "committed", "merged", "deleted", "waiting")
    print_table((*headers, "last activity"), [_row(stream) for stream in reply.streams])


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
