"""OpenTelemetry's SDKs export by every protocol and in every encoding that they know."""

import pytest

from tests.support.collector.ground import Ground
from tests.support.collector.process import CollectorProcess, StartCollector
from tests.support.collector.senders import ROWS, SENT, SenderRow, send_with_sdk

pytestmark = pytest.mark.senders
SDK_ROWS = [row for row in ROWS if row.client.endswith("SDK")]


@pytest.mark.parametrize("row", SDK_ROWS, ids=str)
def test_every_record_of_an_sdk_is_committed_once(
    ground: Ground, start_collector: StartCollector, row: SenderRow
) -> None:
    collector = start_collector()
    tokens = {encoding: ground.new_token() for encoding in row.encodings}

    for encoding, token in tokens.items():
        send_with_sdk(row, endpoint(collector, row.protocol), token.token_secret, encoding)

    counts = ground.committed_counts()
    assert {encoding: counts.get(token.dataset_id) for encoding, token in tokens.items()} == (
        dict.fromkeys(row.encodings, SENT)
    )


def endpoint(collector: CollectorProcess, protocol: str) -> str:
    port = collector.grpc_port if protocol == "grpc" else collector.http_port
    return f"http://127.0.0.1:{port}"
