"""A canary whose collector, dataset or state file fails."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from segplane.__main__ import app
from segplane.cli.delivery import DeliveryFailed, OtlpTarget, send

_HEAD = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"
_CUT = b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{}"


@contextmanager
def answering(reply: bytes) -> Iterator[str]:
    """Answer every connection with the same bytes; gives the address."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                connection, _ = server.accept()
                with connection:
                    request = b""
                    while not request.endswith(b"}"):
                        request += connection.recv(65_536)
                    if request.startswith(b"END"):
                        return
                    connection.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            with socket.create_connection(server.getsockname()) as last:
                last.sendall(b"END}")
            thread.join()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["canary", "--token", "x", "--count", "1", *arguments])


@pytest.mark.parametrize(
    "reply",
    [
        _HEAD + b"<html>",
        _HEAD + b"[1]",
        _HEAD + b'{"partialSuccess": "all"}',
        _HEAD + b'{"partialSuccess": {"rejectedLogRecords": [1]}}',
        _CUT % b"400 Bad Request",
        pytest.param(_CUT % b"200 OK", marks=pytest.mark.long),
        pytest.param(b"SSH-2.0\r\n\r\n", marks=pytest.mark.long),
    ],
)
def test_a_reply_that_is_not_of_otlp_is_a_failed_delivery(reply: bytes) -> None:
    with (
        answering(reply) as endpoint,
        pytest.raises(DeliveryFailed, match=r"the collector (answers|at)"),
    ):
        send(OtlpTarget(endpoint, "x"), "run", range(1))


def test_a_canary_names_a_record_whose_reply_is_not_of_otlp_and_goes_on() -> None:
    with answering(_HEAD + b"<html>") as endpoint:
        refused = run("--endpoint", endpoint)

    assert refused.exit_code == 1
    assert "refused: record 0 sent at" in refused.stdout
    assert "1 sent: 1 refused" in refused.stdout


def test_a_canary_whose_state_cannot_be_written_says_so_once_and_goes_on(tmp_path: Path) -> None:
    state = tmp_path / "missing" / "state"
    with answering(_HEAD + b"<html>") as endpoint:
        done = run("--endpoint", endpoint, "--state", str(state))

    assert "1 sent: 1 refused" in done.stdout
    assert done.stderr.count("cannot write") == 1
