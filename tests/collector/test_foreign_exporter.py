"""An OTLP exporter of another language and project works unchanged.

telemetrygen is the OpenTelemetry Collector's own load generator, in Go; `make tools` fetches it.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.collector.ground import Ground
from tests.support.collector.process import StartCollector
from tests.support.collector.senders import ROWS, SENT, TELEMETRYGEN

pytestmark = pytest.mark.one_meta
TOOLS = Path(__file__).parents[2] / "build" / "tools"
TIMEOUT_SECS = 60
# With these options the commands send what SENT says; a trace is a span and its child.
COMMANDS = (
    ("logs", "--logs", "30", "--batch-size", "7"),
    ("traces", "--traces", "20", "--child-spans", "1"),
    ("metrics", "--metrics", "15", "--metric-type", "ExponentialHistogram"),
)
PROTOCOLS = [row.protocol for row in ROWS if row.client == TELEMETRYGEN]


@pytest.fixture(scope="session")
def telemetrygen() -> str:
    """Give the path of telemetrygen."""
    found = shutil.which("telemetrygen", path=str(TOOLS)) or shutil.which("telemetrygen")
    if found is None:
        pytest.skip("telemetrygen is not installed: `make tools` fetches it where Go is")
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_record_of_a_foreign_exporter_is_committed_once(
    ground: Ground, start_collector: StartCollector, telemetrygen: str, protocol: str
) -> None:
    token = ground.new_token()
    collector = start_collector()
    port = collector.http_port if protocol != "grpc" else collector.grpc_port
    target = ("--otlp-endpoint", f"127.0.0.1:{port}", "--otlp-insecure", "--rate", "0")
    header = ("--otlp-header", f'authorization="Bearer {token.token_secret}"')
    transport = ("--otlp-http",) if protocol != "grpc" else ()

    for command in COMMANDS:
        sent = subprocess.run(
            [telemetrygen, *command, *target, *header, *transport],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_SECS,
        )
        assert sent.returncode == 0, sent.stderr

    assert ground.committed_counts() == {token.dataset_id: SENT}


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
