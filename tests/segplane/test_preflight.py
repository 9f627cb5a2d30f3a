"""Checks before anything starts."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from segplane.stack import preflight
from segplane.stack.preflight import NotReady


@pytest.fixture
def taken_port() -> Iterator[int]:
    """Give a port that something listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        yield listener.getsockname()[1]


def test_a_taken_port_is_refused_with_the_option_that_changes_it(taken_port: int) -> None:
    with pytest.raises(NotReady, match=rf"port {taken_port} cannot be opened .*--otlp-grpc-port"):
        preflight.claim_ports({"--otlp-grpc-port": taken_port})


def test_port_zero_becomes_free_ports_that_differ() -> None:
    ports = preflight.claim_ports({"--a": 0, "--b": 0, "--c": 0})
    # No outgoing connection of this machine is given one of them.
    assert all(port in preflight.CHOSEN_PORTS for port in ports.values())

    assert len(set(ports.values())) == 3
    assert 0 not in ports.values()


def test_a_data_folder_that_is_a_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")

    with pytest.raises(NotReady, match="choose another data folder") as refused:
        preflight.make_data_dir(tmp_path / "data")

    assert "\n" not in str(refused.value)
