"""Clients of OTLP by other projects, and what each of them sends in the tests.

`docs/collector.md` has the table of them; `tests/docs/test_senders.py` compares the two.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from segments.signals import Signal

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "tests" / "collector" / "senders"
BUILT = ROOT / "build" / "senders"
TIMEOUT_SECS = 120
# What each sender exports; those of the SDKs read it from their environment.
SENT: Mapping[Signal, int] = {"logs": 30, "metrics": 15, "traces": 40}
OTELCOL = BUILT / "otelcol"
TELEMETRYGEN = "telemetrygen"
OTELCOL_NAME = "OpenTelemetry Collector"
_HTTP_ENCODINGS = ("none", "gzip", "deflate", "zlib", "zstd", "snappy", "x-snappy-framed", "lz4")


@dataclass(frozen=True)
class SenderRow:
    """One line of the table: a client and the encodings in which it sends by one protocol."""

    client: str
    protocol: str
    encodings: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.client}, {self.protocol}"


ROWS = (
    SenderRow(TELEMETRYGEN, "grpc", ("none",)),
    SenderRow(TELEMETRYGEN, "http/protobuf", ("none",)),
    SenderRow("Python SDK", "grpc", ("none", "gzip")),
    SenderRow("Python SDK", "http/protobuf", ("none", "gzip", "deflate")),
    SenderRow("Node SDK", "grpc", ("none", "gzip")),
    SenderRow("Node SDK", "http/protobuf", ("none", "gzip")),
    SenderRow("Node SDK", "http/json", ("none", "gzip")),
    SenderRow("Go SDK", "grpc", ("none", "gzip")),
    SenderRow("Go SDK", "http/protobuf", ("none", "gzip")),
    SenderRow(OTELCOL_NAME, "grpc", ("none", "gzip")),
    SenderRow(OTELCOL_NAME, "http/protobuf", _HTTP_ENCODINGS),
    SenderRow(OTELCOL_NAME, "http/json", _HTTP_ENCODINGS),
)
# Where the version of each client is fixed, and how it is written there.
_VERSIONS = {
    TELEMETRYGEN: ("Makefile", r"telemetrygen@v([\d.]+)"),
    "Python SDK": ("requirements/dev.lock", r"^opentelemetry-sdk==([\d.]+)"),
    "Node SDK": ("tests/collector/senders/node/package.json", r'sdk-metrics": "([\d.]+)"'),
    "Go SDK": ("tests/collector/senders/go/go.mod", r"otel/sdk v([\d.]+)"),
    OTELCOL_NAME: ("tests/collector/senders/collector/builder.yaml", r"version: ([\d.]+)"),
}
_COMMANDS: Mapping[str, Sequence[str]] = {
    "Python SDK": (sys.executable, str(SOURCES / "python" / "send.py")),
    "Node SDK": ("node", str(BUILT / "node" / "send.mjs")),
    "Go SDK": (str(BUILT / "go-sender"),),
}


def table() -> Iterator[str]:
    """Render the lines of the table in docs/collector.md."""
    for row in ROWS:
        client = f"{row.client} {_version(row.client)}"
        yield f"| {client} | {row.protocol} | {', '.join(row.encodings)} |"


def _version(client: str) -> str:
    place, pattern = _VERSIONS[client]
    match = re.search(pattern, (ROOT / place).read_text(), re.MULTILINE)
    assert match is not None, f"{place} does not say the version of {client}"
    return match[1]


def require(path: Path) -> None:
    """Skip a test whose sender is not built."""
    if not path.exists():
        pytest.skip(f"{path.relative_to(ROOT)} is not there: `make senders` builds it")


def send_with_sdk(row: SenderRow, endpoint: str, token_secret: str, encoding: str) -> None:
    """Export SENT with an SDK, which is set up by OpenTelemetry's environment variables."""
    if row.client != "Python SDK":
        require(Path(_COMMANDS[row.client][-1]))
    settings = {
        "OTEL_EXPORTER_OTLP_PROTOCOL": row.protocol,
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{token_secret}",
        "SENDER_LOGS": str(SENT["logs"]),
        "SENDER_METRICS": str(SENT["metrics"]),
        "SENDER_TRACES": str(SENT["traces"]),
    }
    if encoding != "none":
        settings["OTEL_EXPORTER_OTLP_COMPRESSION"] = encoding
    clean = {name: text for name, text in os.environ.items() if not name.startswith("OTEL_")}
    sent = subprocess.run(
        _COMMANDS[row.client],
        env={**clean, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECS,
    )
    assert sent.returncode == 0, sent.stderr
