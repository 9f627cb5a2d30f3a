"""Processes that wait for queries: their number, their lives, and what they hold meanwhile."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from dataplane.processes.child_process import receive, send
from meta.v1 import operations_pb2 as ops
from segplane.gateway.queries.processes import wire
from segplane.gateway.queries.processes.child import WAITING_NAME
from segplane.gateway.queries.processes.pool import WAITING_MAX, ProcessPool
from segplane.gateway.queries.processes.process import LANES, QueryProcess
from segplane.gateway.queries.processes.wire import ProcessLimits
from segplane.gateway.queries.settings import MIB
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.process_tree import is_alive, name_of
from tests.support.waiting import wait_until

LIMITS = ProcessLimits(128 * MIB, 256 * MIB, 64 * MIB, 1)
OWN_MEMORY_MAX = 32 * MIB

# Prints the threads of a launcher before and after it prepares itself.
PREPARE = """
import os
from segplane.gateway.queries.processes import launcher, prepared
launcher._import_all()
before = len(os.listdir("/proc/self/task"))
prepared.rehearse()
database = prepared.open_database()
print(before, len(os.listdir("/proc/self/task")))
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPool]:
    """Give a pool whose launcher runs."""
    pool = ProcessPool(threads=1, waiting_max=2)
    taken(pool).discard()
    yield pool
    pool.close()


@pytest.fixture
def gateway(gateway: GatewayServer) -> GatewayServer:
    """Give a gateway that has answered a query, so that processes wait for the next."""
    assert gateway.query("print 1").status == 200
    return gateway


def taken(pool: ProcessPool, limits: ProcessLimits = LIMITS) -> QueryProcess:
    """Take a process as a query does."""
    return asyncio.run(pool.take(limits))


def filled(pool: ProcessPool, number: int = 2) -> tuple[int, ...]:
    """Wait until so many processes are prepared; return their ids."""

    def are_ready() -> bool:
        pids = pool.waiting_pids
        return len(pids) == number and all(name_of(pid) == WAITING_NAME for pid in pids)

    wait_until(are_ready, "processes wait")
    return pool.waiting_pids


def _status(pid: int, name: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:"))


def test_waiting_processes_are_bounded_in_number_and_memory(pool: ProcessPool) -> None:
    with ThreadPoolExecutor(6) as threads:
        processes = list(threads.map(lambda _: taken(pool), range(6)))
    pids = filled(pool)
    rolls = [Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() for pid in pids]
    own = [
        sum(int(line.split()[1]) * 1024 for line in roll if line.startswith("Private"))
        for roll in rolls
    ]
    limits = [Path(f"/proc/{pid}/limits").read_text() for pid in pids]
    for process in processes:
        process.discard()

    assert len({process.pid for process in processes}) == 6
    assert len(pids) == 2 < WAITING_MAX
    assert max(own) < OWN_MEMORY_MAX
    assert all("Max data size             unlimited" not in text for text in limits)


def test_a_process_gets_one_query_and_is_gone(
    gateway: GatewayServer, query_pool: ProcessPool
) -> None:
    seen: list[int] = []
    for _ in range(5):
        before = filled(query_pool)
        assert gateway.query("print 1").status == 200
        (used,) = set(before) - set(filled(query_pool))
        seen.append(used)

    assert len(set(seen)) == 5
    wait_until(lambda: not any(map(is_alive, seen)), "they are gone")


def test_a_process_is_replaced_when_its_query_ends_unless_few_are_left() -> None:
    pool = ProcessPool(threads=1, waiting_max=4)

    def waiting() -> int:
        # Starts follow each other, so this waits for those that were asked for.
        pool._starter.submit(int).result()
        return len(pool.waiting_pids)

    with closing(pool):
        taken(pool).discard()
        filled(pool, 4)
        running = [taken(pool), taken(pool)]
        left = waiting()
        running.append(taken(pool))
        while_three_run = waiting()
        for process in (*running, taken(pool)):
            process.discard()
        before_the_end = waiting()
        pool.refill(LIMITS)
        assert (left, while_three_run, before_the_end, waiting()) == (2, 4, 3, 4)


def test_a_waiting_process_holds_no_rights_files_or_version(
    gateway: GatewayServer, segments: SegmentWriter, query_pool: ProcessPool
) -> None:
    segments.write(rows=3)
    assert gateway.query("web | count").json == [{"Count": 3}]
    pids = filled(query_pool)

    for pid in pids:
        files = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").glob("*")]
        folder = next(iter(Path("/tmp").glob(f"segplane-queries-*/query-{pid}")))
        # Its lanes, on which nobody answers yet, the pipe of its result, and no file.
        assert len([name for name in files if name.startswith("socket:")]) == LANES
        assert len([name for name in files if name.startswith("pipe:")]) == 1
        assert not [name for name in files if str(segments.folder) in name]
        assert not [path for path in folder.rglob("*") if path.is_file()]
        assert b"segp_" not in Path(f"/proc/{pid}/environ").read_bytes()
    # The gateway keeps the version of the query before; none is taken for the next.
    assert len(segments.client.operations.ListPins(ops.ListPinsRequest()).pins) == 1


def test_a_waiting_process_is_in_its_sandbox(pool: ProcessPool) -> None:
    for pid in filled(pool):
        for task in Path(f"/proc/{pid}/task").iterdir():
            assert "Seccomp:\t2\n" in (task / "status").read_text()
        limits = Path(f"/proc/{pid}/limits").read_text()
        assert f"Max file size             {LIMITS.spill_bytes}" in limits
        assert "Max core file size        0" in limits


def test_a_waiting_process_uses_no_processor(pool: ProcessPool) -> None:
    pids = filled(pool)

    looks: list[list[str]] = []

    def rest() -> bool:
        """Tell whether no thread ran since the last look; one that runs is switched to."""
        looks.append(
            [
                line
                for pid in pids
                for task in sorted(Path(f"/proc/{pid}/task").glob("*/status"))
                for line in task.read_text().splitlines()
                if "ctxt_switches" in line
            ]
        )
        return len(looks) > 1 and looks[-1] == looks[-2]

    # Each look is a second after the one before, longer than any timer of the libraries.
    wait_until(rest, "no thread runs", poll_secs=1.0)


def test_a_process_that_died_while_it_waited_is_replaced(
    gateway: GatewayServer, query_pool: ProcessPool
) -> None:
    dead = filled(query_pool)
    for pid in dead:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, dead)), "they are dead")

    assert gateway.query("print 1").status == 200

    assert not set(filled(query_pool)) & set(dead)
    # Those that were found dead were waited for.
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in dead), "none is a zombie")


def test_a_process_with_other_limits_gets_no_query(pool: ProcessPool) -> None:
    old = filled(pool)
    other = ProcessLimits(128 * MIB, 256 * MIB, 32 * MIB, 1)

    process = taken(pool, other)
    process.discard()

    assert process.pid not in old
    wait_until(lambda: not set(pool.waiting_pids) & set(old), "the old ones are replaced")
    for pid in filled(pool):
        assert f"Max file size             {32 * MIB}" in Path(f"/proc/{pid}/limits").read_text()


def test_a_process_that_cannot_be_prepared_says_so_to_its_query(pool: ProcessPool) -> None:
    ended: list[dict[str, str]] = []

    def serve(lane: socket.socket) -> None:
        with suppress(EOFError, OSError):
            while True:
                ended.append(json.loads(receive(lane, wire.REQUEST_BYTES_MAX)))
                send(lane, wire.DONE)

    # DuckDB takes no such number of threads.
    process = taken(pool, ProcessLimits(128 * MIB, 256 * MIB, 64 * MIB, -1))
    process.start(wire.QueryTask("print 1", "kql", "json"), serve)
    wait_until(lambda: len(ended) == 2, "it has ended")
    process.discard()

    assert ended[0] == {"op": "begin"}
    assert (ended[1]["kind"], ended[1]["message"][:17]) == ("refused", "the query failed:")


def test_queries_do_not_share_random_numbers(gateway: GatewayServer) -> None:
    text = "SELECT uuid() AS id, random() AS number"

    answers = [gateway.query(text).json[0] for _ in range(3)]

    assert len({answer["id"] for answer in answers}) == 3
    assert len({answer["number"] for answer in answers}) == 3


def test_a_start_that_nobody_waits_for_leaves_no_process(pool: ProcessPool) -> None:
    async def leave() -> None:
        taking = asyncio.create_task(pool.take(ProcessLimits(64 * MIB, 256 * MIB, MIB, 1)))
        await asyncio.sleep(0)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking

    before = set(_children(pool))
    asyncio.run(leave())
    taken(pool).discard()
    kept = set(filled(pool))

    wait_until(lambda: set(_children(pool)) <= kept, f"none is left but those of {before}")


def _children(pool: ProcessPool) -> list[int]:
    launcher = pool.launcher_pid
    path = Path(f"/proc/{launcher}/task/{launcher}/children")
    return [pid for pid in map(int, path.read_text().split()) if is_alive(pid)]


_GATEWAY = """
import asyncio, time
from segplane.gateway.queries.processes.pool import ProcessPool
from segplane.gateway.queries.processes.wire import ProcessLimits

pool = ProcessPool(1, 2)
running = asyncio.run(pool.take(ProcessLimits(2**27, 2**28, 2**26, 1)))
while len(pool.waiting_pids) < 2:
    time.sleep(0.01)
print(pool.launcher_pid, running.pid, *pool.waiting_pids, flush=True)
{end}
"""


@pytest.mark.parametrize("end", ["time.sleep(600)", "pool.close()"], ids=["killed", "stopped"])
def test_a_gateway_that_ends_leaves_no_process(end: str) -> None:
    command = [sys.executable, "-c", _GATEWAY.format(end=end)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as gateway:
        assert gateway.stdout is not None
        pids = list(map(int, gateway.stdout.readline().split()))
        if "sleep" in end:
            gateway.kill()
        gateway.wait()

    assert len(pids) == 4
    wait_until(lambda: not any(map(is_alive, pids)), "launcher and processes are gone")


def test_a_launcher_prepares_itself_without_threads() -> None:
    """A fork of a process whose threads hold locks can hang."""
    done = subprocess.run([sys.executable, "-c", PREPARE], capture_output=True, text=True)

    before, after = done.stdout.split()
    assert after == before, done.stderr
