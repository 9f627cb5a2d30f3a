"""Machines of a test's own: network namespaces, whose packets may vanish without a word."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

# Nobody has it: frames to it are dropped, and neither side learns of it.
_NOBODY = "02:00:00:00:00:99"


@dataclass(frozen=True)
class Machine:
    """A network namespace that a pair of devices connects with this machine."""

    name: str
    address: str
    # The other end of the pair.
    host_address: str
    host_device: str

    @property
    def launcher(self) -> list[str]:
        """The words before a command that runs in the namespace."""
        return [_program(), "netns", "exec", self.name]

    def vanish(self) -> None:
        """Lose every packet to and from the machine, as without power; nothing is closed."""
        _ip("neigh", "replace", self.address, "lladdr", _NOBODY, "dev", self.host_device)
        _ip("-n", self.name, "neigh", "replace", self.host_address, "lladdr", _NOBODY, "dev", "out")


@contextmanager
def machines(number: int) -> Iterator[list[Machine]]:
    """Make namespaces; skips the test by name where that cannot be done."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("no network namespace can be made: it needs root and iproute2")
    with ExitStack() as exits:
        yield [_make(exits, index) for index in range(number)]


def _make(exits: ExitStack, index: int) -> Machine:
    name, subnet = f"sgp{os.getpid()}-{index}", f"10.213.{os.getpid() % 250}"
    machine = Machine(name, f"{subnet}.{4 * index + 2}", f"{subnet}.{4 * index + 1}", name)
    try:
        _ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespace can be made: {error.stderr.decode().strip()}")
    exits.callback(_ip, "netns", "delete", name)
    _ip("link", "add", name, "type", "veth", "peer", "name", "out", "netns", name)
    exits.callback(_ip, "link", "delete", name)
    _ip("address", "add", f"{machine.host_address}/30", "dev", name)
    _ip("link", "set", name, "up")
    _ip("-n", name, "address", "add", f"{machine.address}/30", "dev", "out")
    for device in ("lo", "out"):
        _ip("-n", name, "link", "set", device, "up")
    return machine


def _program() -> str:
    return shutil.which("ip") or "/usr/sbin/ip"


def _ip(*arguments: str) -> None:
    subprocess.run([_program(), *arguments], check=True, capture_output=True)
