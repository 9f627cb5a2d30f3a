"""VersityGW, a real S3 server over a folder, as a process for tests; `make tools` builds it."""

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.support.certificates import CertificateFiles
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[3]
ACCESS_KEY, SECRET_KEY = "test", "test"
DEADLINE_SECS = 20.0
STARTS = 5
NOBODY: Mapping[str, str] = MappingProxyType({})


def find_versitygw() -> str | None:
    """Find the server's program, if it is installed."""
    found = shutil.which("versitygw", path=str(ROOT / "build" / "tools"))
    return found or shutil.which("versitygw")


@contextmanager
def running_versitygw(
    folder: Path,
    users: Mapping[str, str] = NOBODY,
    root: tuple[str, str] = (ACCESS_KEY, SECRET_KEY),
    tls: CertificateFiles | None = None,
) -> Iterator[str]:
    """Run the server over its own empty folder; gives its URL, skips without its program.

    `users` are names and secrets of accounts beside the root's, which policies of buckets name.
    """
    program = find_versitygw()
    if program is None:
        pytest.skip("versitygw is not installed: `make tools` builds it where Go is")
    (folder / "users").mkdir(exist_ok=True)
    accounts = {name: _account(name, secret) for name, secret in users.items()}
    (folder / "users" / "users.json").write_text(json.dumps({"accessAccounts": accounts}))
    certificate = ["--cert", str(tls.cert), "--key", str(tls.key)] if tls else []
    process, address = _started([program, *certificate], folder, root)
    url = f"{'https' if tls else 'http'}://{address}"
    try:
        yield url
    finally:
        process.terminate()
        process.wait(DEADLINE_SECS)


def _account(name: str, secret: str) -> dict[str, object]:
    ids = {"userID": 0, "groupID": 0, "projectID": 0}
    return {"access": name, "secret": secret, "role": "user", **ids}


def _started(
    program: list[str], folder: Path, root: tuple[str, str]
) -> "tuple[subprocess.Popen[bytes], str]":
    # It does not say which port it got, so it is told one, which another may take meanwhile.
    for _ in range(STARTS):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        process = _start(program, folder, port, root)
        if _is_listening(process, port):
            return process, f"127.0.0.1:{port}"
    raise AssertionError((folder / "log").read_text())


def _start(
    program: list[str], folder: Path, port: int, root: tuple[str, str]
) -> "subprocess.Popen[bytes]":
    objects, metadata = folder / "objects", folder / "metadata"
    objects.mkdir(exist_ok=True)
    metadata.mkdir(exist_ok=True)
    beside = [] if _has_attributes(objects) else ["--sidecar", str(metadata)]
    address = ["--port", f"127.0.0.1:{port}", "--quiet", "--keep-alive"]
    address += ["--iam-dir", str(folder / "users")]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [*program, *address, "posix", *beside, str(objects)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=dict(zip(("ROOT_ACCESS_KEY", "ROOT_SECRET_KEY"), root, strict=True)),
        )


def _has_attributes(folder: Path) -> bool:
    try:
        os.setxattr(folder, "user.test", b"")
        os.removexattr(folder, "user.test")
    except OSError:
        return False
    return True


def _is_listening(process: "subprocess.Popen[bytes]", port: int) -> bool:
    def is_open() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    def is_decided() -> bool:
        return process.poll() is not None or is_open()

    wait_until(is_decided, "versitygw to listen", seconds=DEADLINE_SECS)
    return process.poll() is None
