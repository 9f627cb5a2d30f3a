"""Fifty clients that poll a table cost meta what one costs: a description is made once for all."""

import threading
import time
from collections import Counter

from meta import metrics
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer

CLIENTS, POLLS = 50, 3
REFRESH_SECS = 0.5
# GetDatasetTable, ListDatasetChanges and HandOutTable; a new version writes objects besides.
CALLS_OF_A_REFRESH = 3


def test_fifty_clients_cost_meta_a_refresh_each_half_second(
    meta_server: MetaServer, segments: SegmentWriter
) -> None:
    segments.write(rows=2)
    gateway = GatewayServer(meta_server.address, refresh_secs=REFRESH_SECS)
    statuses = Counter[int]()
    try:
        etag = gateway.table().headers["etag"]
        before, began = _calls(), time.monotonic()

        def poll() -> None:
            for _ in range(POLLS):
                statuses[gateway.table(If_None_Match=etag).status] += 1

        threads = [threading.Thread(target=poll) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        refreshes = (time.monotonic() - began) / REFRESH_SECS + 1
        made = _calls() - before
    finally:
        gateway.close()

    assert statuses == {304: CLIENTS * POLLS}
    # However long it took on this machine, and far below one for each answer.
    assert made <= CALLS_OF_A_REFRESH * refreshes
    assert made < CLIENTS * POLLS / 2


def _calls() -> float:
    """Calls that this process's meta has answered."""
    samples = metrics.META.collect()
    return sum(
        sample.value
        for metric in samples
        for sample in metric.samples
        if sample.name == "segplane_rpc_seconds_count"
    )
