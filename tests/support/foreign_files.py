"""Parquet files that others wrote, registered by a client of the published contract."""

import io
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from janitor.config import Settings
from janitor.jobs import Tools
from meta.client import location
from meta.process.shutdown import Shutdown
from meta.v1 import common_pb2, ingestion_pb2
from segments.keys import new_merged_key, split_key
from segments.location import Stores
from segments.store.open import open_store
from tests.support.meta.segments import EPOCH, segment_of
from tests.support.meta.server import MetaServer

SECOND = 1_000_000_000


def tools_of(server: MetaServer) -> Tools:
    """Return a janitor's tools over a meta."""
    reply = server.client.ingestion.DownloadConfig(
        ingestion_pb2.DownloadConfigRequest(worker_id="test", omit_datasets=True)
    )
    place = location(reply.cloud_object_prefix.bucket)
    settings = Settings(meta_address=server.address)
    return Tools(server.client, open_store(place), Stores(place), settings, Shutdown(), "janitor")


def parquet(table: pa.Table, **options: Any) -> bytes:
    """Return a table as a plain Parquet file."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def time_of(nanos: int) -> datetime:
    """Return a time of whole microseconds."""
    return datetime.fromtimestamp(nanos // SECOND, UTC)


def logs(rows: int, start: int = EPOCH, **columns: Any) -> pa.Table:
    """Return a table as somebody may have it: times, texts and their own columns."""
    times = pa.array([start + n * SECOND for n in range(rows)]).cast(pa.timestamp("ns", "UTC"))
    own = {
        "timestamp": times.cast(pa.timestamp("us", "UTC")),
        "body": [f"line {n}" for n in range(rows)],
        "severity_number": pa.array([9] * rows, pa.int16()),
        "user.id": pa.array(range(rows), pa.int32()),
    }
    return pa.table(own | columns)


@dataclass
class ForeignWriter:
    """Puts objects under a dataset's prefix and registers them without facts."""

    server: MetaServer
    dataset: str

    def save(self, body: bytes | None, rows: int, start: int = EPOCH, end: int = 0) -> str:
        """Register an object, None = one that is not there; returns the segment's id."""
        message = self.described(body, rows, start, end)
        request = ingestion_pb2.SaveSegmentsRequest(segments=[message])
        (segment_id,) = self.server.client.ingestion.SaveSegments(request).ids
        return segment_id

    def described(
        self, body: bytes | None, rows: int, start: int = EPOCH, end: int = 0
    ) -> common_pb2.CreateSegment:
        """Put an object and describe it."""
        key = new_merged_key(self.dataset)
        end = end or start + max(0, rows - 1) * SECOND
        message = segment_of(self.dataset, start, end, events=rows, compressed=len(body or b"x"))
        prefix, message.cloud_object_key.key = split_key(key)
        message.cloud_object_key.prefix.prefix = prefix
        if body is not None:
            self.put(message, body)
        return message

    def put(self, message: common_pb2.CreateSegment, body: bytes) -> None:
        """Put the object that a message describes."""
        at = message.cloud_object_key
        path = Path("/", self.server.settings.location.path, at.prefix.prefix, at.key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
