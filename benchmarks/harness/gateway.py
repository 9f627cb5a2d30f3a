"""A gateway of benchmarks, in its own process, and segments for its tables."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen
from uuid import uuid4

from benchmarks.harness.waiting import START_SECS_MAX, wait_until
from meta.v1 import common_pb2
from segments.keys import new_merged_key, split_key
from segments.parquet.columns.stored_columns import FORMAT_MICROSECONDS
from segplane.stack.preflight import claim_ports

DAY_NANOS = 86_400 * 10**9
_FIRST_DAY = 20_000


@dataclass(frozen=True, slots=True)
class BenchGateway:
    """A running gateway."""

    port: int
    pid: int

    def load(self, table: str, connection: HTTPConnection, etag: str = "") -> tuple[str, Any]:
        """Load a table; returns its etag, and its metadata, or None where it is unchanged."""
        path = f"/iceberg/v1/namespaces/default/tables/{table}"
        connection.request("GET", path, headers={"If-None-Match": etag} if etag else {})
        reply = connection.getresponse()
        body = reply.read()
        assert reply.status in (200, 304), body
        metadata = json.loads(body)["metadata"] if body else None
        return reply.headers["ETag"], metadata

    def connect(self) -> HTTPConnection:
        """A connection that is kept."""
        return HTTPConnection("127.0.0.1", self.port, timeout=60)


@contextmanager
def bench_gateway(
    meta_address: str, settings: Mapping[str, str] | None = None
) -> Iterator[BenchGateway]:
    """Run `python -m segplane.gateway` on its own port, with its default settings and others."""
    port = claim_ports({"gateway": 0})["gateway"]
    environment = {
        **os.environ,
        "GATEWAY_BIND": f"127.0.0.1:{port}",
        "GATEWAY_META_ADDRESS": meta_address,
        **(settings or {}),
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "segplane.gateway"],
        env=environment,
        stderr=subprocess.DEVNULL,
    )

    def is_up() -> bool:
        assert process.poll() is None, "the gateway ended"
        try:
            with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as reply:
                return bool(reply.status == 200)
        except (URLError, ConnectionError):
            return False

    try:
        wait_until(is_up, "the gateway", seconds=START_SECS_MAX)
        yield BenchGateway(port, process.pid)
    finally:
        process.terminate()
        process.wait()


def segment_of(dataset_id: str, number: int) -> common_pb2.CreateSegment:
    """Describe a segment of ten days, whose object no table's metadata reads."""
    start = (_FIRST_DAY + number % 10) * DAY_NANOS + number
    span = common_pb2.TimeRange(start_time=start, end_time=start + 10**9)
    prefix, key = split_key(new_merged_key(dataset_id))
    facts = common_pb2.SegmentFacts(
        format_version=FORMAT_MICROSECONDS,
        signals=[
            common_pb2.SignalFacts(
                signal=common_pb2.SIGNAL_LOGS, number_of_events=1_000, time_range=span
            )
        ],
    )
    return common_pb2.CreateSegment(
        dataset_id=dataset_id,
        time_range=span,
        size_bytes=1_000_000,
        compressed_size_bytes=100_000 + uuid4().int % 1_000,
        number_of_events=1_000,
        cloud_object_key=common_pb2.CloudObjectKey(
            prefix=common_pb2.CloudObjectPrefix(prefix=prefix), key=key
        ),
        facts=facts,
    )
