"""Feeds of several meta processes on one port: each sees what the others commit."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from meta.client import MetaClient, typed_error
from meta.errors import MetaError, Unavailable
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import Writer
from tests.support.process_tree import children_of
from tests.support.waiting import wait_until

WATCHERS = 12
DEADLINE_SECS = 60.0


@pytest.fixture
def address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def parent(address: str, database_url: str, tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    environment = {
        **os.environ,
        "META_BIND": address,
        "META_DATABASE_URL": database_url,
        "META_OBJECT_STORE_URL": (tmp_path / "objects").as_uri(),
        "META_PROCESSES": "2",
        "META_THREADS": "4",
    }
    command = [sys.executable, "-P", "-m", "meta"]
    log = tmp_path / "log"
    with (
        log.open("wb") as stderr,
        subprocess.Popen(command, env=environment, stderr=stderr) as process,
    ):
        # Both listen: the kernel shares connections between those that do.
        wait_until(lambda: log.read_text().count("meta_started") == 2, "two processes", seconds=60)
        yield process
        process.terminate()


class Reader:
    """A reader with its own connection, which resumes wherever it is refused."""

    def __init__(self, address: str, since: int) -> None:
        self._address, self.through = address, since
        self.shown = list[str]()
        self.refusals = list[MetaError]()
        self._open()

    def _open(self) -> None:
        # A channel with options of its own shares no connection.
        self._channel = grpc.insecure_channel(
            self._address, options=[("grpc.use_local_subchannel_pool", 1)]
        )
        request = pb.WatchDatasetRequest(dataset_name="web", since_version=self.through)
        method = self._channel.unary_stream(
            "/meta.v1.OperationsService/WatchDataset",
            request_serializer=pb.WatchDatasetRequest.SerializeToString,
            response_deserializer=pb.WatchDatasetResponse.FromString,
        )
        self._call: Any = method(request, timeout=DEADLINE_SECS, wait_for_ready=True)

    def follow(self, version: int) -> list[str]:
        """Receive until a version."""
        while self.through < version:
            try:
                message = next(self._call)
            except grpc.RpcError as error:
                self.refusals.append(typed_error(error))
                self._channel.close()
                self._open()
                continue
            self.shown += [one.segment.id for one in message.changes]
            self.through = message.through_version
        return self.shown

    def close(self) -> None:
        self._channel.close()


@pytest.mark.long
def test_watchers_of_all_processes_see_every_commit_and_survive_a_killed_one(
    parent: "subprocess.Popen[bytes]", address: str
) -> None:
    with MetaClient(address) as client:
        dataset = CatalogDriver(client).dataset("web")
        writer = Writer(client)
        since = writer.find("web").snapshot_version
        readers = [Reader(address, since) for _ in range(WATCHERS)]

        first = writer.save_many(dataset, 3)
        version = writer.find("web").snapshot_version
        assert all(sorted(reader.follow(version)) == sorted(first) for reader in readers)
        os.kill(children_of(parent.pid)[0], signal.SIGKILL)
        second = writer.save_many(dataset, 3)
        version = writer.find("web", min_version=version + 1).snapshot_version
        shown = [sorted(reader.follow(version)) for reader in readers]

    assert all(ids == sorted(first + second) for ids in shown)
    refusals = [refusal for reader in readers for refusal in reader.refusals]
    assert refusals
    assert {type(refusal) for refusal in refusals} == {Unavailable}
    for reader in readers:
        reader.close()
