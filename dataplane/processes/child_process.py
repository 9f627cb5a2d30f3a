"""Child process that its parent talks to over a socket: framing, start and death.

- Framing: the length of a message as four bytes, then the message.
- Start: the child finds modules where its parent does, and gets the number of its socket as its
  argument. It is not forked: a fork of a process with gRPC's threads can hang. It has a session of
  its own, because Ctrl-C in a terminal is for the parent, which ends with its work done.
- Death: a parent kills its child and waits for it. A child ends as soon as the parent's side of
  the socket is closed, whatever ended the parent.
"""

import asyncio
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NoReturn

from dataplane.processes.parent_death import tied_command

MESSAGE_BYTES_MAX = 2**32 - 1
_LENGTH = struct.Struct(">I")


class ChildProcess:
    """A child process; its environment is that of its parent if none is given.

    With `is_tied` the kernel kills the child when the thread that started it ends. A `is_silent`
    child cannot print; the text of others goes where this process logs.
    """

    def __init__(
        self,
        module: str,
        environment: Mapping[str, str] | None = None,
        *,
        is_tied: bool = False,
        is_silent: bool = False,
    ) -> None:
        self.socket, theirs = socket.socketpair()
        safe_path = ["-P"] if sys.flags.safe_path else []
        command = [sys.executable, *safe_path, "-m", module, str(theirs.fileno())]
        try:
            with theirs:
                self._popen = subprocess.Popen(
                    tied_command(command, signal.SIGKILL) if is_tied else command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL if is_silent else sys.stderr.fileno(),
                    stderr=subprocess.DEVNULL if is_silent else None,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
        except BaseException:
            self.socket.close()
            raise

    @property
    def pid(self) -> int:
        """Its id."""
        return self._popen.pid

    def is_alive(self) -> bool:
        """True until it has ended."""
        return self._popen.poll() is None

    async def call(self, request: object) -> object:
        """Send a value and wait for the child's on the event loop; raises EOFError, OSError."""
        loop = asyncio.get_running_loop()
        self.socket.setblocking(False)
        message = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        await loop.sock_sendall(self.socket, _LENGTH.pack(len(message)) + message)
        (length,) = _LENGTH.unpack(await _read(loop, self.socket, _LENGTH.size))
        return pickle.loads(await _read(loop, self.socket, length))  # noqa: S301 - a child of ours

    def kill(self) -> None:
        """End it at once; does not wait."""
        self._popen.kill()

    def end(self) -> int:
        """Kill it if it runs, and wait; returns its exit code."""
        self.kill()
        code = self._popen.wait()
        self.socket.close()
        return code


def parent_socket(*, ends_with_parent: bool = True) -> socket.socket:
    """Return a child's socket to its parent.

    The child ends when the parent closes its side, also in the midst of a task. Without
    `ends_with_parent` it does so only when it reads.
    """
    parent = socket.socket(fileno=int(sys.argv[1]))
    if ends_with_parent:
        threading.Thread(target=_end_with_parent, args=(parent.fileno(),), daemon=True).start()
    return parent


def serve(parent: socket.socket, answer: Callable[[bytearray], bytes]) -> None:
    """Answer each message of the parent until it ends."""
    with suppress(EOFError):
        while True:
            send(parent, answer(receive(parent)))


def send(channel: socket.socket, *parts: bytes) -> None:
    """Send one message; raises OSError."""
    channel.sendall(_LENGTH.pack(sum(map(len, parts))))
    for part in parts:
        channel.sendall(part)


def receive(channel: socket.socket, bytes_max: int = MESSAGE_BYTES_MAX) -> bytearray:
    """Receive one message; raises EOFError at the end, ValueError if it is too long, OSError."""
    (length,) = _LENGTH.unpack(_exactly(channel, _LENGTH.size))
    if length > bytes_max:
        raise ValueError(f"a message has {length:,} bytes, at most {bytes_max:,} are taken")
    return _exactly(channel, length)


def send_value(channel: socket.socket, value: object) -> None:
    """Send a value as one message; raises OSError."""
    send(channel, pickle.dumps(value, pickle.HIGHEST_PROTOCOL))


def receive_value(channel: socket.socket, bytes_max: int = MESSAGE_BYTES_MAX) -> object:
    """Receive a value of a process that is trusted; raises as `receive` does."""
    return pickle.loads(receive(channel, bytes_max))  # noqa: S301


def _exactly(channel: socket.socket, length: int) -> bytearray:
    message = bytearray(length)
    unread = memoryview(message)
    while unread:
        count = channel.recv_into(unread)
        if not count:
            raise EOFError
        unread = unread[count:]
    return message


async def _read(loop: asyncio.AbstractEventLoop, channel: socket.socket, length: int) -> bytearray:
    message = bytearray(length)
    unread = memoryview(message)
    while unread:
        count = await loop.sock_recv_into(channel, unread)
        if not count:
            raise EOFError
        unread = unread[count:]
    return message


def _end_with_parent(fd: int) -> NoReturn:
    poller = select.poll()
    # No event but the hang-up, which is always reported.
    poller.register(fd, 0)
    poller.poll()
    os._exit(0)
