"""Calls on a channel that another thread has closed fail, and do not end the process."""

import pytest

from meta.client.addresses import ServerTarget
from meta.client.connections import Connection


def test_a_new_call_on_a_closed_channel_fails_as_grpc_says() -> None:
    connection = Connection(ServerTarget("127.0.0.1:1"), None)
    connection.close()

    with pytest.raises(ValueError, match="closed"):
        connection.call("unary_unary", "/meta.v1.CatalogService/ListDatasets", {})
    assert connection.start_probe(1.0).wait().health is False
