"""A collector as its own process, seen through its log and its ports."""

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc

from collector.servers.otlp_grpc import METHODS
from segments.signals import Signal
from tests.support.collector.ground import GroundToken

DEADLINE_SECS = 30.0
# How long a sender goes on to send an export, and its pause in between.
SEND_SECS, RETRY_SECS = 90.0, 0.2
RETRYABLE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
LOGS_METHOD = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"


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

    def send(self, token_secret: str, payload: bytes, signal: Signal = "logs") -> bytes:
        """Export as senders do: once more after each answer that tells to, for a while."""
        until = time.monotonic() + SEND_SECS
        while True:
            call = self.start(token_secret, payload, signal)
            error = call.exception()
            if error is None:
                reply: bytes = call.result()
                return reply
            if error.code() not in RETRYABLE or time.monotonic() > until:
                raise error
            time.sleep(RETRY_SECS)

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


def impatient(first: str = "", **changes: int) -> tuple[str, str]:
    """Program of a collector that trusts answers of meta for a tenth of a second.

    `first` is Python code that runs before it, `changes` are of its settings.
    """
    changed = {"token_cache_secs": 0.1, "usage_cache_secs": 0.1, **changes}
    code = f"""{first}
from dataclasses import replace
from collector import config
from collector.__main__ import main
main(lambda env: replace(config.load(env), **{changed}))"""
    return "-c", code


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
    def stub(self) -> Iterator[Stub]:
        """Open a channel that exports raw bytes."""
        options = [("grpc.max_send_message_length", -1)]
        with grpc.insecure_channel(f"127.0.0.1:{self.grpc_port}", options=options) as channel:
            yield Stub(channel)

    def export(self, token: GroundToken, payload: bytes, signal: Signal = "logs") -> bytes:
        """Export once over gRPC."""
        with self.stub() as stub:
            return stub.export(token.token_secret, payload, signal)


StartCollector = Callable[..., CollectorProcess]
