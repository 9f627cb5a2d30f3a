"""A stream that is cancelled while it waits for a server to come back ends, and opens no other."""

import threading

import grpc
import pytest

from meta.client import MetaClient, failures
from tests.meta.client.conftest import TwoMetas
from tests.support.followers import Follower
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.cut_proxy import Fault
from tests.support.meta.segments import Writer
from tests.support.waiting import wait_until


def test_a_stream_that_is_cancelled_between_two_attempts_is_not_opened_again(
    metas: TwoMetas, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than gRPC waits before it connects again.
    monkeypatch.setattr(failures, "BACKOFF_SECS", (2.0, 2.0))
    with MetaClient(f"127.0.0.1:{metas.servers[0].port}") as direct:
        writer, dataset = Writer(direct), CatalogDriver(direct).dataset("web")
        writer.save_many(dataset, 1)
        version = writer.find("web").snapshot_version
    proxy = metas.proxies[0]
    with MetaClient(proxy.address) as client:
        follower = Follower(client, version)
        ended = list[grpc.RpcError]()

        def read() -> None:
            try:
                for _ in follower.call:
                    pass
            except grpc.RpcError as error:
                ended.append(error)

        wait_until(lambda: proxy.connections == 1, "the stream", seconds=10)
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        proxy.fail(Fault.KILLED)
        # It pauses before its next attempt.
        wait_until(lambda: follower.call._failure is not None, "the failure", seconds=10)
        follower.call.cancel()
        proxy.fail(None)

        reader.join(10)
        assert not reader.is_alive()
        assert len(ended) == 1
