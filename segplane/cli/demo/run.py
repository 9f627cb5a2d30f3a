"""One run of the demo: starts a stack of its own in a folder, and stops it."""

import time
from pathlib import Path

from rich.console import Console

from meta.errors import MetaError
from segplane.cli.connection import refusal
from segplane.cli.console import timed_report
from segplane.cli.demo.relay import Relay
from segplane.cli.demo.sender import SendFailed
from segplane.cli.demo.stages import Demo, DemoFailed
from segplane.cli.demo.watch import Late
from segplane.cli.process_settings import require_valid
from segplane.stack import config
from segplane.stack.dev import COLLECTOR, GATEWAY, PARTS, Stack

# The processes' own telemetry reaches the collector through the demo's relay.
TELEMETRY_PACE = {
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    "OTEL_METRIC_EXPORT_INTERVAL": "3000",
    "OTEL_BSP_SCHEDULE_DELAY": "1000",
    "OTEL_BLRP_SCHEDULE_DELAY": "1000",
}


def run(folder: Path) -> None:
    """Exit with an error line unless everything held."""
    try:
        _run(folder)
    except (DemoFailed, SendFailed, Late, MetaError) as error:
        raise refusal(f"the demo failed: {error}") from None


def _run(folder: Path) -> None:
    console = Console()
    started = time.monotonic()
    settings = config.StackSettings(
        data_dir=folder,
        meta_port=0,
        otlp_grpc_port=0,
        otlp_http_port=0,
        gateway_port=0,
        is_unsafe_grace=True,
        inherited=config.inherited_environment(),
    )
    require_valid(settings, PARTS)
    with Relay() as relay:
        telemetry = {"OTEL_EXPORTER_OTLP_ENDPOINT": relay.endpoint, **TELEMETRY_PACE}
        stack = Stack(settings, timed_report(), parts=(COLLECTOR, GATEWAY), telemetry=telemetry)
        with stack, stack.connect() as client:
            Demo(stack, relay, client, console, started).run()
    console.print(f"all checks passed, {time.monotonic() - started:.0f} s")
