"""WatchDataset goes on at another server: no change is missed, none is shown twice."""

import pytest

from meta.client import MetaClient, liveness
from meta.services.lookup import changes
from tests.meta.client.conftest import TwoMetas
from tests.support.followers import Follower
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.cut_proxy import Fault
from tests.support.meta.segments import Writer

SEGMENTS = 200


@pytest.mark.parametrize("fault", [Fault.KILLED, Fault.STOPPED], ids=lambda fault: fault.value)
def test_a_stream_of_changes_moves_to_another_server(
    metas: TwoMetas, client: MetaClient, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "PATIENCE_SECS", 0.4)
    monkeypatch.setattr(liveness, "PROBE_SECS", 0.6)
    with MetaClient(f"127.0.0.1:{metas.servers[0].port}") as direct:
        writer, dataset = Writer(direct), CatalogDriver(direct).dataset("web")
        follower = Follower(client, writer.find("web").snapshot_version)
        for _ in range(2):
            writer.save_many(dataset, 5)
            follower.follow(writer.find("web").snapshot_version)
            used = metas.in_use()
            used.fail(fault)
            writer.save_many(dataset, 5)
            # The follower fails on a removal of a segment that it does not have.
            shown = follower.follow(writer.find("web").snapshot_version)
            assert shown == {segment.id for segment in writer.find("web").segments}
            used.fail(None)
        follower.call.cancel()


def test_a_stream_that_moves_inside_of_a_version_shows_each_change_once(
    metas: TwoMetas, client: MetaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "REPLY_BYTES_MAX", 2_000)
    with MetaClient(f"127.0.0.1:{metas.servers[0].port}") as direct:
        writer, dataset = Writer(direct), CatalogDriver(direct).dataset("web")
        since = writer.find("web").snapshot_version
        writer.save_many(dataset, SEGMENTS)
        reply = writer.find("web")
        follower = Follower(client, since)
        seen = [change.segment.id for change in follower.receive().changes]
        assert 0 < len(seen) < SEGMENTS
        assert follower.through == since

        # What was received beyond the first message is in this process already: end it there.
        metas.in_use().fail(Fault.KILLED)
        while follower.through < reply.snapshot_version:
            seen += [change.segment.id for change in follower.receive().changes]
        assert all(proxy.accepted for proxy in metas.proxies)
        follower.call.cancel()

    assert len(seen) == len(set(seen)) == SEGMENTS
