"""A Trino server that `make readers` installs, and a client of its HTTP interface."""

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from segplane.cli.iceberg_settings import CatalogAddress
from tests.support.gateway.engine_script import plain
from tests.support.gateway.engines import DEADLINE_SECS, READERS, ROOT, Answers, printed
from tests.support.gateway.questions import QUESTIONS, TRINO
from tests.support.waiting import wait_until

HOME = READERS / "trino"
JAVA_MIN = 24
_TIME = re.compile(r"(\d+-\d+-\d+) (\d+:\d+:\d+\.\d+) UTC")
_JVM = """-server
-Xmx1500M
-XX:+UseSerialGC
-XX:TieredStopAtLevel=1
-Djdk.attach.allowAttachSelf=true
"""
_CONFIG = """coordinator=true
node-scheduler.include-coordinator=true
http-server.http.port={port}
discovery.uri=http://127.0.0.1:{port}
node.internal-address=127.0.0.1
catalog.management=static
"""


def find_java() -> str:
    """The home of a Java that is new enough; skips the test if there is none."""
    homes = [os.environ.get("JAVA_HOME", ""), *map(str, sorted(Path("/usr/lib/jvm").glob("*")))]
    for home in homes:
        release = Path(home, "release")
        found = release.exists() and re.search(r'JAVA_VERSION="(\d+)', release.read_text())
        if found and int(found[1]) >= JAVA_MIN:
            return home
    pytest.skip(f"no Java {JAVA_MIN} or newer is there, which Trino needs")


@dataclass
class TrinoServer:
    """One node over a catalog; close it at the end."""

    folder: Path
    catalog: CatalogAddress
    # Properties beside or in place of those that are printed; "" leaves one out.
    changes: Mapping[str, str] = field(default_factory=dict)
    # Properties of catalogs beside that one, which differ in these, by their names.
    others: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (HOME / ".ready").exists():
            pytest.skip(f"{HOME.relative_to(ROOT)} is not there: `make readers` installs it")
        java = find_java()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._write_settings()
        self._log = (self.folder / "log").open("wb")
        self._process = subprocess.Popen(
            [
                str(HOME / "bin" / "launcher"),
                "run",
                "--etc-dir",
                str(self.folder / "etc"),
                "--data-dir",
                str(self.folder / "data"),
            ],
            env={**os.environ, "JAVA_HOME": java, "PATH": f"{java}/bin:{os.environ['PATH']}"},
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_until(self._is_up, "Trino is up", poll_secs=0.5)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(60)
        self._log.close()
        shutil.rmtree(self.folder / "data", ignore_errors=True)

    def ask(
        self, dataset: str, version: int, begin: Callable[[str], object] = lambda _: None
    ) -> Answers:
        """Put all questions to it; `begin` is told the name of each."""
        table = TRINO.table(dataset, version)
        answers: Answers = {}
        for question in QUESTIONS:
            begin(question.name)
            rows, read = self.query(question.sql(TRINO, table))
            answers[question.name] = {"rows": rows, "read": read}
        return answers

    def query(self, sql: str) -> tuple[list[dict[str, Any]], dict[str, int]]:
        """Run a query; returns its rows and what it read.

        Raises AssertionError with its error and the causes of that, a line each.
        """
        reply = self._send(f"http://127.0.0.1:{self.port}/v1/statement", sql.encode())
        rows: list[list[Any]] = []
        while True:
            assert "error" not in reply, _messages(reply["error"]["failureInfo"])
            rows += reply.get("data", [])
            if "nextUri" not in reply:
                break
            reply = self._send(reply["nextUri"])
        names = [column["name"] for column in reply["columns"]]
        stats = reply["stats"]
        read = {"rows": stats["processedRows"], "bytes": stats["physicalInputBytes"]}
        return [dict(zip(names, map(_plain, row), strict=True)) for row in rows], read

    def _send(self, url: str, body: bytes | None = None) -> Any:
        headers = {
            "X-Trino-User": "reader",
            "X-Trino-Time-Zone": "UTC",
            # Without this, times are sent in whole milliseconds.
            "X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME",
        }
        with urlopen(Request(url, body, headers), timeout=DEADLINE_SECS) as reply:
            return json.loads(reply.read())

    def _is_up(self) -> bool:
        assert self._process.poll() is None, (self.folder / "log").read_text()[-4_000:]
        try:
            return not self._send(f"http://127.0.0.1:{self.port}/v1/info")["starting"]
        except (URLError, ConnectionError):
            return False

    def _write_settings(self) -> None:
        etc = self.folder / "etc"
        (etc / "catalog").mkdir(parents=True)
        (etc / "node.properties").write_text("node.environment=test\n")
        (etc / "jvm.config").write_text(_JVM)
        (etc / "config.properties").write_text(_CONFIG.format(port=self.port))
        lines = printed("trino", self.catalog).splitlines()
        properties = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
        for catalog, changes in {"segplane": self.changes, **self.others}.items():
            changed = properties | dict(changes)
            (etc / "catalog" / f"{catalog}.properties").write_text(
                "".join(f"{name}={value}\n" for name, value in changed.items() if value)
            )


def _messages(failure: Any) -> str:
    """Return what a user is shown, and on lines of their own the causes that `--debug` shows."""
    lines = []
    while failure:
        lines.append(str(failure.get("message")))
        failure = failure.get("cause")
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    """A value as other engines give it: times as microseconds, no empty lists."""
    if isinstance(value, str) and (found := _TIME.fullmatch(value)):
        return plain(datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00"))
    if isinstance(value, list):
        return [_plain(one) for one in value] or None
    return value
