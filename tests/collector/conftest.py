"""Collectors as real processes before a real meta and a folder as object store."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import grpc
import psycopg
import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from collector.babies import StreamBabies
from collector.dedupe import CommittedDigests
from collector.ingestion import Ingestion
from collector.otlp_grpc import METHODS
from collector.stream_recovery import StreamTail
from meta import config
from meta.client import MetaClient
from meta.process import Environment
from meta.v1 import catalog_pb2, ingest_token_pb2, ingestion_pb2, nursery_pb2
from segments.baby import Baby, Signal, decode_baby
from segments.keys import baby_key
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.conftest import MetaServer

DEADLINE_SECS = 30.0
T = TypeVar("T")


@dataclass(frozen=True)
class IngestToken:
    """A token made for a test, and the dataset that all its signals go to."""

    token_secret: str
    token_id: str
    dataset_id: str


@dataclass(frozen=True)
class Ground:
    """What a collector stands on: meta, its database and the object store."""

    meta: MetaServer
    database_url: str
    store: ObjectStore

    @property
    def client(self) -> MetaClient:
        """Client of the meta."""
        return self.meta.client

    def stop_meta(self) -> None:
        """Let meta answer nothing more."""
        running = self.meta.running
        running.loop.run(running.server.stop(0))

    def new_token(self) -> IngestToken:
        """Make a dataset and a token that routes to it."""
        name = f"d-{uuid4().hex[:8]}"
        dataset = self.client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=name))
        made = self.client.ingest_token.CreateIngestToken(
            ingest_token_pb2.CreateIngestTokenRequest(name=name, dataset_name=name)
        )
        return IngestToken(made.plaintext_token, made.token.id, dataset.id)

    def register(self, collector_id: str, token: IngestToken) -> tuple[str, int]:
        """Register as a collector would; returns stream id and next offset."""
        request = ingestion_pb2.RegisterForStreamRequest(
            collector_id=collector_id, ingest_token=token.token_secret
        )
        reply = self.client.ingestion.RegisterForStream(request)
        return reply.stream_id, reply.next_offset

    def stop_stream(self, stream_id: str, final_offset: int) -> None:
        """Stop a stream as a nursery does whose collector seems dead."""
        self.client.nursery.MarkStreamStopped(
            nursery_pb2.MarkStreamStoppedRequest(
                stream_id=stream_id,
                final_offset=final_offset,
                reason=nursery_pb2.STOP_REASON_TIMEOUT,
            )
        )

    def commits(self) -> list[tuple[str, int, int]]:
        """Every committed baby as (stream, offset, records), in order."""
        with psycopg.connect(self.database_url) as connection:
            rows = connection.execute(
                'SELECT stream_id, "offset", num_records FROM baby_segments'
                ' ORDER BY stream_id, "offset"'
            ).fetchall()
        return [(str(stream), offset, records) for stream, offset, records in rows]

    def baby(self, stream_id: str, offset: int) -> Baby:
        """Read one baby."""
        return decode_baby(self.store.get(baby_key(stream_id, offset)))

    def committed_babies(self) -> list[Baby]:
        """Read every committed baby that has an object."""
        return [self.baby(stream, offset) for stream, offset, _ in self.commits()]

    def committed_ids(self) -> list[str]:
        """The ids of all log records in committed babies, sorted."""
        return sorted(
            record.body.string_value
            for baby in self.committed_babies()
            for part in baby.parts
            if part.signal == "logs"
            for payload in part.slices
            for resource in LogsData.FromString(payload).resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        )


@pytest.fixture
def flush_timeout_ms() -> int:
    """How long a flush waits for more; a test overrides this to hold flushes back."""
    return 40


@pytest.fixture
def meta_settings(database_url: str, tmp_path: Path, flush_timeout_ms: int) -> config.Settings:
    """Settings of the meta under test: flushes are quick."""
    return config.load(
        Environment(
            "META_",
            {
                "META_BIND": "127.0.0.1:0",
                "META_DATABASE_URL": database_url,
                "META_OBJECT_STORE_URL": (tmp_path / "objects").as_uri(),
                "META_FLUSH_TIMEOUT_MS": str(flush_timeout_ms),
            },
        )
    )


@pytest.fixture
def ground(meta_server: MetaServer, database_url: str, tmp_path: Path) -> Ground:
    """Give a meta with an empty object store."""
    store = open_store(meta_server.settings.location)
    store.probe()
    return Ground(meta_server, database_url, store)


@dataclass
class CollectorProcess:
    """`python -m collector`, seen through its log."""

    process: "subprocess.Popen[str]"
    events: list[dict[str, Any]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    _is_over: bool = False
    _news: threading.Condition = field(default_factory=threading.Condition)

    def read_log(self) -> None:
        """Follow the log until the process ends; runs in a thread."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self.lines.append(line)
                if line.startswith("{"):
                    self.events.append(json.loads(line))
                self._news.notify_all()
        with self._news:
            self._is_over = True
            self._news.notify_all()

    def wait_for_end(self) -> None:
        """Wait until the whole log is read."""
        with self._news:
            assert self._news.wait_for(lambda: self._is_over, DEADLINE_SECS), self.lines

    def wait_for(self, event: str, count: int = 1) -> dict[str, Any]:
        """Wait until an event was logged `count` times; returns the latest of them."""

        def seen() -> list[dict[str, Any]]:
            return [e for e in self.events if e["event"] == event]

        with self._news:
            assert self._news.wait_for(lambda: len(seen()) >= count, DEADLINE_SECS), self.lines
            return seen()[-1]

    @property
    def grpc_port(self) -> int:
        """Port of OTLP/gRPC."""
        port: int = self.wait_for("listening")["grpc_port"]
        return port

    @property
    def http_port(self) -> int:
        """Port of OTLP/HTTP."""
        port: int = self.wait_for("listening")["http_port"]
        return port

    def terminate(self) -> int:
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_SECS)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait(DEADLINE_SECS)

    @contextmanager
    def stub(self) -> "Iterator[Stub]":
        """Open a channel that exports raw bytes."""
        options = [("grpc.max_send_message_length", -1)]
        with grpc.insecure_channel(f"127.0.0.1:{self.grpc_port}", options=options) as channel:
            yield Stub(channel)

    def export(self, token: IngestToken, payload: bytes, signal: Signal = "logs") -> bytes:
        """Export once over gRPC."""
        with self.stub() as stub:
            return stub.export(token.token_secret, payload, signal)


@dataclass(frozen=True)
class Stub:
    """The Export methods, taking bytes."""

    channel: grpc.Channel

    def export(
        self, token_secret: str, payload: bytes, signal: Signal = "logs", timeout: float = 20.0
    ) -> bytes:
        """Export and wait for the acknowledgement."""
        reply: bytes = self.start(token_secret, payload, signal, timeout).result()
        return reply

    def start(
        self, token_secret: str, payload: bytes, signal: Signal = "logs", timeout: float = 20.0
    ) -> Any:
        """Export without waiting."""
        path = next(path for path, known in METHODS.items() if known == signal)
        return self.call(path, payload, (("authorization", f"Bearer {token_secret}"),), timeout)

    def call(
        self,
        path: str,
        payload: bytes,
        headers: Sequence[tuple[str, str]] = (),
        timeout: float = 20.0,
        compression: grpc.Compression = grpc.Compression.NoCompression,
    ) -> Any:
        """Call any method with raw bytes, without waiting."""
        method = self.channel.unary_unary(path, _as_is, _as_is)
        return method.future(payload, timeout, tuple(headers), compression=compression)


def _as_is(payload: bytes) -> bytes:
    return payload


StartCollector = Callable[..., CollectorProcess]


@pytest.fixture
def start_collector(ground: Ground, tmp_path: Path) -> Iterator[StartCollector]:
    """Give a function that starts a collector with extra settings, and end them all afterwards."""
    started: list[CollectorProcess] = []

    def start(*, is_ready: bool = True, **settings: str) -> CollectorProcess:
        environment = {
            **os.environ,
            "COLLECTOR_META_ADDRESS": ground.meta.address,
            "COLLECTOR_GRPC_BIND": "127.0.0.1:0",
            "COLLECTOR_HTTP_BIND": "127.0.0.1:0",
            "COLLECTOR_ID": "collector-1",
            **settings,
        }
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "collector"],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        running = CollectorProcess(process)
        threading.Thread(target=running.read_log, daemon=True).start()
        started.append(running)
        if is_ready:
            running.wait_for("ready")
        return running

    yield start
    for running in started:
        if running.process.poll() is None:
            running.kill()


@dataclass
class Seat:
    """One incarnation of a collector at a stream, driven by a test without a process."""

    ground: Ground
    token: IngestToken
    digests: CommittedDigests
    threads: ThreadPoolExecutor

    def tail(self, stream_id: str) -> StreamTail:
        """Open the end of a stream; call on the event loop."""
        ingestion = Ingestion(self.ground.client, "collector-1")
        babies = StreamBabies(self.ground.store, self.threads, stream_id)
        return StreamTail(stream_id, ingestion, babies, self.digests)


@pytest.fixture
def seat(ground: Ground) -> Iterator[Seat]:
    """Give a seat at the streams of `collector-1`."""
    with ThreadPoolExecutor(8) as threads:
        yield Seat(ground, ground.new_token(), CommittedDigests(600.0), threads)


def log_export(*ids: str, padding_bytes: int = 0, time_nanos: int = 0) -> bytes:
    """An export of one log record per id."""
    data = LogsData()
    scope = data.resource_logs.add().scope_logs.add()
    for index, record_id in enumerate(ids):
        record = scope.log_records.add()
        record.time_unix_nano = (time_nanos or time.time_ns()) + index
        record.body.string_value = record_id
        record.severity_text = "x" * padding_bytes
    return data.SerializeToString()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run on a fresh event loop, with a deadline."""

    async def bounded() -> T:
        async with asyncio.timeout(DEADLINE_SECS):
            return await coroutine

    return asyncio.run(bounded())
