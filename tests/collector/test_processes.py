"""Several collector processes on one port."""

import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from segplane.stack.preflight import claim_ports
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import StartCollector, Stub


def children_of(pid: int) -> list[int]:
    """The processes that a process started."""
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return [int(child) for child in children.read().split()]


def settings() -> dict[str, str]:
    ports = claim_ports({"grpc": 0, "http": 0})
    return {
        "COLLECTOR_PROCESSES": "2",
        "COLLECTOR_GRPC_BIND": f"127.0.0.1:{ports['grpc']}",
        "COLLECTOR_HTTP_BIND": f"127.0.0.1:{ports['http']}",
    }


@pytest.mark.long
def test_processes_share_the_ports_and_have_a_stream_each(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    wanted = settings()
    collector = start_collector(is_ready=False, **wanted)
    collector.wait_for("ready", 2)

    def send(number: int) -> None:
        # A channel of its own each, so that the kernel can share them out.
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(wanted["COLLECTOR_GRPC_BIND"], options=options) as channel:
            Stub(channel).export(token.token_secret, log_export(f"r{number}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(40)))

    assert collector.terminate() == 0
    assert ground.committed_ids() == sorted(f"r{n}" for n in range(40))
    assert len({stream for stream, _, _ in ground.commits()}) == 2


@pytest.mark.long
def test_a_process_that_dies_is_started_again(
    ground: Ground, start_collector: StartCollector
) -> None:
    collector = start_collector(is_ready=False, **settings())
    collector.wait_for("ready", 2)

    os.kill(children_of(collector.process.pid)[0], signal.SIGKILL)

    collector.wait_for("ready", 3)
    assert collector.terminate() == 0


def test_children_end_when_the_parent_is_killed(
    ground: Ground, start_collector: StartCollector
) -> None:
    collector = start_collector(is_ready=False, **settings())
    collector.wait_for("ready", 2)

    collector.kill()

    # Their log ends, so both have let go of it.
    collector.wait_for("stopped", 2)
    collector.wait_for_end()


def test_a_taken_port_is_not_shared_by_accident(start_collector: StartCollector) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        taken = f"127.0.0.1:{holder.getsockname()[1]}"
        wanted = {**settings(), "COLLECTOR_GRPC_BIND": taken}
        collector = start_collector(is_ready=False, **wanted)

        assert collector.process.wait(30) == 2
        collector.wait_for_end()

    assert taken in collector.lines[-1]
