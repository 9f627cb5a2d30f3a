"""The walk-through of docs/datasets.md as a new user runs it: from a dataset to typed columns."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.collector.process import CollectorProcess
from tests.support.documentation import Block, blocks_of
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import nursery
from tests.support.spark import shared_session

PAGE = "docs/datasets.md"
DIGEST = "9f4c1f0c5d1a4e0b8a6f6d0b2a7c3e15"
LARGE = [{"payment_id": "p-1", "amount": 1250, "sku": 7}]


@dataclass(frozen=True)
class Shell:
    """A user's shell beside a running stack, whose ports are not the usual ones."""

    meta: MetaServer
    gateway: GatewayServer
    collector: CollectorProcess

    def run(self, script: str) -> str:
        """Run a script and return its output; a command that fails ends it."""
        ports = {"4318": self.collector.http_port, "9580": self.gateway.port}
        for usual, own in ports.items():
            script = script.replace(f"127.0.0.1:{usual}", f"127.0.0.1:{own}")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            env={
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "SEGPLANE_META_ADDRESS": self.meta.address,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def shell(meta_server: MetaServer, gateway: GatewayServer) -> Iterator[Shell]:
    """A stack that has a collector; its nursery runs when a test says so."""
    values = {"META_ADDRESS": meta_server.address, "GRPC_BIND": "127.0.0.1:0"}
    values |= {"HTTP_BIND": "127.0.0.1:0", "ID": "collector-1"}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "collector"],
        env={**os.environ, **{f"COLLECTOR_{name}": value for name, value in values.items()}},
        stderr=subprocess.PIPE,
        text=True,
    )
    collector = CollectorProcess(process)
    threading.Thread(target=collector.read_log, daemon=True).start()
    try:
        collector.wait_for("ready")
        yield Shell(meta_server, gateway, collector)
    finally:
        process.kill()
        collector.wait_for_end()


def walk_through() -> list[Block]:
    """The blocks of the page's first part, in their order."""
    first_part = (Path(__file__).parents[3] / PAGE).read_text().split("\n## ")[1]
    blocks = [block for block in blocks_of(PAGE) if block.text in first_part]
    languages = [block.language for block in blocks]
    assert languages == ["sh", "sh", "json", "sh", "json", "python", "python"]
    return blocks


def sent(shell: Shell, blocks: list[Block]) -> None:
    """Create the dataset, send the page's records, and have a nursery merge them."""
    answer = shell.run(blocks[0].text + blocks[1].text)
    # The digest is of the token too, which is another one each time.
    assert re.sub("[0-9a-f]{32}", DIGEST, answer).strip().endswith(blocks[2].text.strip())
    nursery(shell.meta.client).cycle()


@pytest.mark.long
def test_the_walk_through_ends_with_a_query_on_a_typed_column(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = walk_through()
    sent(shell, blocks)

    answer = shell.run(blocks[3].text)
    monkeypatch.setenv("SEGPLANE_META_ADDRESS", shell.meta.address)
    values: dict[str, Any] = {}
    exec(blocks[5].text, values)  # noqa: S102 - the page's own text

    assert re.sub(r"\s", "", answer) == re.sub(r"\s", "", blocks[4].text)
    assert values["large"].column_names == ["payment_id", "amount", "paid_at"]
    assert values["large"]["payment_id"].to_pylist() == ["p-1"]


@pytest.mark.slow
@pytest.mark.spark
def test_the_walk_through_reads_the_typed_column_in_spark(shell: Shell) -> None:
    blocks = walk_through()
    sent(shell, blocks)
    source = '.format("segplane")'
    # The driver's variables are those with which its JVM began, before this meta.
    text = blocks[6].text.replace(source, f'{source}.option("metaAddress", "{shell.meta.address}")')
    values: dict[str, Any] = {"spark": shared_session()}

    exec(text, values)  # noqa: S102 - the page's own text

    assert [row.asDict() for row in values["large"].collect()] == [
        {"payment_id": "p-1", "amount": 1250}
    ]
