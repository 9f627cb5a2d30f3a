"""Checks before anything starts, so that a failure is one clear line."""

import contextlib
import random
import socket
import stat
from collections.abc import Mapping
from pathlib import Path

from segplane.stack.defaults import HOST

# Below those that Linux gives to outgoing connections: one of these could take a port between its
# choice and the start of its server.
CHOSEN_PORTS = range(20_000, 32_768)
_TRIES = 20


class NotReady(Exception):
    """A prerequisite is missing on this machine; the message is one line that names it."""


class PortTaken(NotReady):
    """A port cannot be opened."""


def make_data_dir(data_dir: Path) -> None:
    """Create the data folder and check that it is writable."""
    probe = data_dir / ".writable"
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise NotReady(
            f"cannot write to {data_dir}: {error.strerror}: choose another data folder "
            "with --data-dir or SEGPLANE_DATA_DIR"
        ) from error


def make_private_dir(folder: Path) -> None:
    """Create a folder that other users cannot enter, or close one that they could."""
    folder.mkdir(mode=0o700, exist_ok=True)
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & stat.S_IRWXO:
        # An operator may have opened it to a group.
        folder.chmod(mode & ~stat.S_IRWXO)


def claim_ports(ports: Mapping[str, int], hosts: Mapping[str, str] | None = None) -> dict[str, int]:
    """Check that each port can be opened, and choose a free one for 0.

    All are held open together, so that no two are equal. `ports` maps option names to ports,
    `hosts` those that are not on the loopback address to their hosts.
    """
    hosts = hosts or {}
    with contextlib.ExitStack() as held:
        return {
            option: _open(held, option, hosts.get(option, HOST), port)
            for option, port in ports.items()
        }


def _open(held: contextlib.ExitStack, option: str, host: str, port: int) -> int:
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    listener = held.enter_context(socket.socket(family, socket.SOCK_STREAM))
    # Set as by the servers, so that connections of the last run in TIME_WAIT do not block the port.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        _bind(listener, host.strip("[]"), port)
        listener.listen(1)
    except OSError as error:
        raise PortTaken(
            f"port {port} cannot be opened ({error.strerror}): stop what listens there, "
            f"or choose another with {option} (0 = any free one)"
        ) from None
    return int(listener.getsockname()[1])


def _bind(listener: socket.socket, host: str, port: int) -> None:
    for candidate in random.sample(CHOSEN_PORTS, _TRIES) if port == 0 else ():
        with contextlib.suppress(OSError):
            listener.bind((host, candidate))
            return
    listener.bind((host, port))
