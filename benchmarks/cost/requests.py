"""Requests that an S3 server gets, from its own access log."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.waiting import START_SECS_MAX, wait_until

PROGRAM = Path(__file__).parents[2] / "build" / "tools" / "versitygw"
BUCKET = "cost"
_KEYS = ("cost-access", "cost-secret")
_OPERATION = re.compile(r" s3_(\w+) ")


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running server; `url` is a store's URL."""

    url: str
    log: Path

    def requests(self) -> Counter[str]:
        """Count all requests since its start by operation."""
        return Counter(_OPERATION.findall(self.log.read_text()))


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """Run versitygw over an empty folder; its keys are in this process's environment."""
    os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"] = _KEYS
    for name in ("objects", "metadata"):
        (folder / name).mkdir(parents=True)
    (folder / "objects" / BUCKET).mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    log = folder / "access.log"
    command = [str(PROGRAM), "--port", f"127.0.0.1:{port}", "--quiet", "--access-log", str(log)]
    process = subprocess.Popen(
        [*command, "posix", "--sidecar", str(folder / "metadata"), str(folder / "objects")],
        env={"ROOT_ACCESS_KEY": _KEYS[0], "ROOT_SECRET_KEY": _KEYS[1]},
        stdout=subprocess.DEVNULL,
    )

    def is_listening() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"versitygw ended with code {process.returncode}")
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(is_listening, "versitygw", seconds=START_SECS_MAX)
        yield S3Server(f"s3://{BUCKET}/data?endpoint=http://127.0.0.1:{port}&region=us-east-1", log)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
