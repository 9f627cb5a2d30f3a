"""A process's own telemetry reaches an OTLP endpoint through the official exporters."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

PROGRAM = """
import structlog
from meta import telemetry
from meta.process import observability
from nursery import metrics
observability.configure_logging("nursery")
metrics.REAPED_BABIES.inc(3)
with telemetry.span("work", rows=2):
    structlog.get_logger().info("work_done", rows=2)
"""
ABOUT = """
import structlog
from meta import telemetry
from meta.process import observability
observability.configure_logging("nursery")
log = structlog.get_logger()
for dataset_id in ("its-id", "other-id"):
    with telemetry.about([dataset_id]), telemetry.span(f"merge of {dataset_id}"):
        log.info(f"merged {dataset_id}")
    log.info(f"names {dataset_id}", key=f"tables/{dataset_id}/a")
with telemetry.about(["its-id", "other-id"]):
    log.info("merged both")
log.info("names its name", dataset="segplane")
log.info("names another", dataset="web", logger="segplane")
"""
# Says when it has nothing more to do; spans and events wait to be sent then.
ENDS = (
    PROGRAM
    + """
print("done", flush=True)
"""
)
# END_SECS, and the end of the interpreter.
EXIT_SECS_MAX = 2.0


class Sink(
    logs_service_pb2_grpc.LogsServiceServicer,
    trace_service_pb2_grpc.TraceServiceServicer,
    metrics_service_pb2_grpc.MetricsServiceServicer,
):
    """Keeps what it is sent; one method serves all three services' Export by request type."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.lock = threading.Lock()

    def Export(self, request, context):  # type: ignore[no-untyped-def]  # noqa: N802
        with self.lock:
            if isinstance(request, logs_service_pb2.ExportLogsServiceRequest):
                for resource in request.resource_logs:
                    for scope in resource.scope_logs:
                        self.names |= {f"log {r.body.string_value}" for r in scope.log_records}
                return logs_service_pb2.ExportLogsServiceResponse()
            if isinstance(request, trace_service_pb2.ExportTraceServiceRequest):
                for spans in request.resource_spans:
                    for scope_spans in spans.scope_spans:
                        self.names |= {f"span {s.name}" for s in scope_spans.spans}
                return trace_service_pb2.ExportTraceServiceResponse()
            for found in request.resource_metrics:
                for scope_metrics in found.scope_metrics:
                    self.names |= {f"metric {m.name}" for m in scope_metrics.metrics}
            return metrics_service_pb2.ExportMetricsServiceResponse()


@pytest.fixture
def sink() -> Iterator[tuple[Sink, int]]:
    """Run an OTLP endpoint that remembers names."""
    found = Sink()
    server = grpc.server(ThreadPoolExecutor(4))
    logs_service_pb2_grpc.add_LogsServiceServicer_to_server(found, server)
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(found, server)
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(found, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield found, port
    server.stop(0).wait()


def test_logs_spans_and_metrics_leave_before_the_process_ends(sink: tuple[Sink, int]) -> None:
    found, port = sink
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}

    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True, timeout=60)

    assert {
        "log work_done",
        "span work",
        "metric segplane_nursery_reaped_babies_total",
    } <= found.names


def test_nothing_about_the_dataset_that_receives_telemetry_is_sent(sink: tuple[Sink, int]) -> None:
    found, port = sink
    environment = {
        **os.environ,
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "SEGPLANE_SELF_TELEMETRY_DATASET": "segplane=its-id",
    }

    done = subprocess.run(
        [sys.executable, "-c", ABOUT],
        env=environment,
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
    )

    assert {name for name in found.names if not name.startswith("metric")} == {
        "span merge of other-id",
        "log merged other-id",
        "log names other-id",
        "log merged both",
        "log names another",
    }
    assert "merged its-id" in done.stderr, "a process's own log has all"


@pytest.mark.parametrize("is_listening", [False, True], ids=["ended", "hangs"])
def test_a_process_ends_in_time_without_its_collector(is_listening: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        if not is_listening:
            listener.close()
        environment = {
            **os.environ,
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_BSP_SCHEDULE_DELAY": "10",
        }
        process = subprocess.Popen(
            [sys.executable, "-c", ENDS],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"done\n"
        began = time.monotonic()
        code = process.wait(60)

    assert (code, time.monotonic() - began < EXIT_SECS_MAX) == (0, True)
