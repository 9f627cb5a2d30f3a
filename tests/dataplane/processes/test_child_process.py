"""A child process and the socket to its parent: framing, and the end of either."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataplane.processes.child_process import ChildProcess, receive, receive_value, send, send_value
from tests.support.process_tree import is_alive
from tests.support.waiting import wait_until

# Starts a child that is busy without reading, and says its process id.
_PARENT = """
import sys, threading
from pathlib import Path
from dataplane.processes.child_process import ChildProcess
child = ChildProcess("tests.dataplane.processes.busy_child")
Path(sys.argv[1]).write_text(str(child.pid))
threading.Event().wait()
"""


@pytest.fixture
def channels() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def child() -> Iterator[ChildProcess]:
    child = ChildProcess("tests.dataplane.processes.echoing_child")
    yield child
    child.end()


@pytest.mark.parametrize("size", [0, 1, 5_000_000], ids=["empty", "a byte", "beyond the buffer"])
def test_a_message_comes_whole(channels: tuple[socket.socket, socket.socket], size: int) -> None:
    ours, theirs = channels
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    sender = threading.Thread(target=send, args=(ours, body[:10], body[10:]))
    sender.start()

    assert receive(theirs) == body
    sender.join()


def test_a_message_that_is_too_long_is_not_read(
    channels: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = channels
    send(ours, b"12345")

    with pytest.raises(ValueError, match="has 5 bytes, at most 4"):
        receive(theirs, 4)


def test_a_message_that_breaks_off_is_the_end(
    channels: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = channels
    ours.sendall(b"\0\0\0\x05123")
    ours.close()

    with pytest.raises(EOFError):
        receive(theirs)


def test_a_child_answers_in_a_thread_and_on_an_event_loop(child: ChildProcess) -> None:
    send_value(child.socket, ["a"])
    assert receive_value(child.socket) == ["a"]

    assert asyncio.run(child.call({"b": b"c" * 1_000_000})) == {"b": b"c" * 1_000_000}


def test_a_call_of_a_child_that_is_killed_ends(child: ChildProcess) -> None:
    child.kill()

    with pytest.raises((EOFError, OSError)):
        asyncio.run(child.call("a"))
    assert child.end() < 0
    assert not is_alive(child.pid)


def test_a_busy_child_ends_with_its_killed_parent(tmp_path: Path) -> None:
    said = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(said)])
    wait_until(lambda: said.exists() and said.read_text() != "", "the child runs", seconds=60)
    pid = int(said.read_text())

    parent.kill()
    parent.wait()

    wait_until(lambda: not is_alive(pid), "the child has ended")
