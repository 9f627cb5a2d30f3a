"""MinIO, an S3 server whose token service enforces session policies; `make minio` builds it."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[3]
MINIO_KEY, MINIO_SECRET = "test-of-segplane", "the-secret-of-tests"
DEADLINE_SECS = 30.0
STARTS = 5


@contextmanager
def running_minio(folder: Path) -> Iterator[str]:
    """Run the server over its own empty folder; gives its URL, skips without its program."""
    program = shutil.which("minio", path=str(ROOT / "build" / "tools")) or shutil.which("minio")
    if program is None:
        pytest.skip("minio is not installed: `make minio` builds it where Go is")
    process, url = _started(program, folder)
    try:
        yield url
    finally:
        process.kill()
        process.wait(DEADLINE_SECS)


def _started(program: str, folder: Path) -> "tuple[subprocess.Popen[bytes], str]":
    # It does not say which port it got, so it is told one, which another may take meanwhile.
    for _ in range(STARTS):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        process = _start(program, folder, port)
        try:
            wait_until(
                lambda: process.poll() is not None or _is_ready(port),  # noqa: B023
                "minio to listen",
                seconds=DEADLINE_SECS,
            )
        except AssertionError:
            process.kill()
            raise
        if process.poll() is None:
            return process, f"http://127.0.0.1:{port}"
    raise AssertionError((folder / "log").read_text())


def _start(program: str, folder: Path, port: int) -> "subprocess.Popen[bytes]":
    objects = folder / "objects"
    objects.mkdir(exist_ok=True)
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [program, "server", "--quiet", "--address", f"127.0.0.1:{port}", str(objects)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={
                "HOME": str(folder),
                "MINIO_ROOT_USER": MINIO_KEY,
                "MINIO_ROOT_PASSWORD": MINIO_SECRET,
                "MINIO_BROWSER": "off",
                "MINIO_UPDATE": "off",
            },
        )


def _is_ready(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.settimeout(2)
            connection.sendall(b"GET /minio/health/cluster HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
            return b" 200 " in connection.recv(64)
    except OSError:
        return False
