"""An OTLP exporter of another language and project works unchanged.

telemetrygen is the OpenTelemetry Collector's own load generator, in Go; `make tools` fetches it.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.collector.ground import Ground
from tests.support.collector.process import StartCollector

TOOLS = Path(__file__).parents[2] / "build" / "tools"
TIMEOUT_SECS = 60
# What each command sends with these options; a trace is a span and its child.
SENT = {
    "logs": (("logs", "--logs", "30", "--batch-size", "7"), 30),
    "traces": (("traces", "--traces", "20", "--child-spans", "1"), 40),
    "metrics": (("metrics", "--metrics", "15", "--metric-type", "ExponentialHistogram"), 15),
}


@pytest.fixture(scope="session")
def telemetrygen() -> str:
    """Give the path of telemetrygen."""
    found = shutil.which("telemetrygen", path=str(TOOLS)) or shutil.which("telemetrygen")
    if found is None:
        pytest.skip("telemetrygen is not installed: `make tools` fetches it where Go is")
    return found


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_every_record_of_a_foreign_exporter_is_committed_once(
    ground: Ground, start_collector: StartCollector, telemetrygen: str, protocol: str
) -> None:
    token = ground.new_token()
    collector = start_collector()
    port = collector.http_port if protocol == "http" else collector.grpc_port
    target = ("--otlp-endpoint", f"127.0.0.1:{port}", "--otlp-insecure", "--rate", "0")
    header = ("--otlp-header", f'authorization="Bearer {token.token_secret}"')
    transport = ("--otlp-http",) if protocol == "http" else ()

    for command, _ in SENT.values():
        sent = subprocess.run(
            [telemetrygen, *command, *target, *header, *transport],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_SECS,
        )
        assert sent.returncode == 0, sent.stderr

    parts = [part for baby in ground.committed_babies() for part in baby.parts]
    assert {part.dataset_id for part in parts} == {token.dataset_id}
    for signal, (_, records) in SENT.items():
        assert sum(part.num_records for part in parts if part.signal == signal) == records


def test_a_foreign_exporter_with_an_unknown_token_is_refused(
    ground: Ground, start_collector: StartCollector, telemetrygen: str
) -> None:
    collector = start_collector()

    sent = subprocess.run(
        [
            telemetrygen,
            *("logs", "--logs", "1", "--rate", "0", "--otlp-insecure"),
            *("--otlp-endpoint", f"127.0.0.1:{collector.grpc_port}"),
            *("--otlp-header", 'authorization="Bearer it_nobody"'),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECS,
    )

    assert "Unauthenticated" in sent.stderr
    assert ground.commits() == []
