"""The OpenTelemetry Collector: it takes the same exports, and writes batches of them to a file."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

from benchmarks.cost.load import SendOrder, send
from benchmarks.harness.waiting import wait_until
from segplane.stack.preflight import claim_ports

PROGRAM = Path(__file__).parents[2] / "build" / "senders" / "otelcol"
SENDERS = 32
# A collector ends once its last batch is written.
_DONE_SECS = 60.0


def collector_cpu_secs(folder: Path, exports: Path) -> float:
    """Return its CPU seconds for 10^9 bytes of OTLP, from its start until it has ended."""
    port = claim_ports({"grpc": 0})["grpc"]
    config = folder / "otelcol.json"
    config.write_text(json.dumps(_config(port, folder / "otelcol.out")))
    with subprocess.Popen([PROGRAM, f"--config={config}"], stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: _is_open(port), "the OpenTelemetry Collector", seconds=_DONE_SECS)
            order = SendOrder(str(exports), f"127.0.0.1:{port}", "none", SENDERS)
            sent = send(order, process.poll)
            process.terminate()
            # The time until its end, with that of the last batches.
            _, status, usage = os.wait4(process.pid, 0)
            assert not status, f"it ended with status {status}"
        finally:
            process.kill()
    return (usage.ru_utime + usage.ru_stime) / (sent.otlp_bytes / 1e9)


def _config(port: int, path: Path) -> dict[str, object]:
    # A file of each signal: the first pipeline to stop closes the file that another still writes.
    signals = ("logs", "traces")
    return {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{port}"}}}},
        "processors": {"batch": {}},
        "exporters": {
            f"file/{signal}": {"path": f"{path}.{signal}", "format": "proto", "compression": "zstd"}
            for signal in signals
        },
        "service": {
            "pipelines": {
                signal: {
                    "receivers": ["otlp"],
                    "processors": ["batch"],
                    "exporters": [f"file/{signal}"],
                }
                for signal in signals
            },
            "telemetry": {"metrics": {"level": "none"}},
        },
    }


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
