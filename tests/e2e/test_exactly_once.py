"""The first promise, end to end: kill -9 what you like, and every record is there exactly once."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from dataplane.condemnation import Condemnation
from dataplane.processes.children import Child, ChildSpec
from dataplane.readiness import is_serving
from janitor.orphans import sweep
from meta.client import MetaClient
from meta.process.shutdown import Shutdown
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from meta.v1.janitor_pb2 import CreateMergeTasksRequest, ListMergeTasksRequest
from meta.v1.nursery_pb2 import GetIngestStreamsRequest, IngestStreamInfo
from meta.v1.operations_pb2 import GetServerStateRequest
from segments.location import StoreLocation
from segments.store.open import open_store
from segplane.stack.config import environment_of
from segplane.stack.dev import Stack
from segplane.stack.preflight import claim_ports
from tests.support.examples import examples
from tests.support.pipeline.reading import find_all, paths, read_records
from tests.support.pipeline.sending import (
    GrpcSender,
    HttpSender,
    Record,
    SendLog,
    Signal,
    exports,
    make_records,
)
from tests.support.waiting import wait_until

DATASETS = ("shop", "billing", "mail")
SIGNALS: tuple[Signal, ...] = ("logs", "metrics", "traces")
RECORDS = examples(80_000)
SEND_SECS_MAX = 180.0
# Midday, so that no record crosses into another UTC day.
MIDDAY_NANOS = 1_780_056_000 * 10**9

pytestmark = [pytest.mark.timeout(600), pytest.mark.spark]


@dataclass(frozen=True)
class Endpoint:
    """A collector's two addresses."""

    grpc: str
    http: str


@pytest.mark.parametrize(
    "master", ["local[2]", pytest.param("processes[2]", marks=pytest.mark.slow)]
)
def test_every_record_is_there_exactly_once_through_crashes(stack: Stack) -> None:
    sent = SendLog()
    with MetaClient(stack.settings.meta_address) as client, _second_collector(stack) as second:
        tokens = {name: _make_dataset(client, name) for name in DATASETS}
        first = Endpoint(
            stack.settings.otlp_grpc_address, stack.settings.otlp_http_url.removeprefix("http://")
        )
        senders = _start_senders(tokens, (first, second.endpoint), sent)

        _kill_nursery_after_its_first_segment(stack, client)
        _kill_merge_worker_inside_a_task(stack, client)
        _join(senders, stack)
        _stop_collectors(stack, second.child)
        wait_until(
            lambda: not _streams(client), "every stream is merged and retired", tick=stack.check
        )

        drained = _version(client)
        root = stack.settings.data_dir / "objects"
        before = {name: find_all(client, name, drained) for name in DATASETS}
        bags = {name: read_records(paths(root, before[name])) for name in DATASETS}
        assert bags == _expected(sent)

        _compact(stack, client)
        after = {name: find_all(client, name) for name in DATASETS}
        # Merges also ran while records came in, so there may be none left to do here.
        assert all(any(one.merge_count for one in found) for found in after.values())
        assert {n: read_records(paths(root, s)) for n, s in after.items()} == bags
        assert {n: sum(i.number_of_events for i in s) for n, s in after.items()} == {
            n: bag.total() for n, bag in bags.items()
        }
        live = {path for segments in after.values() for path in paths(root, segments)}
        wait_until(lambda: _swept(client, root) == live, "only live objects remain", poll_secs=0.5)
        wait_until(lambda: not _objects(root / "ingest-stream"), "every baby is reaped")
        assert not _objects(root / "quarantine")


def _make_dataset(client: MetaClient, name: str) -> str:
    client.catalog.CreateDataset(CreateDatasetRequest(name=name))
    reply = client.ingest_token.CreateIngestToken(
        CreateIngestTokenRequest(name=f"{name}-token", dataset_name=name)
    )
    return reply.plaintext_token


@dataclass(frozen=True)
class SecondCollector:
    """A collector beside the stack's own."""

    child: Child
    endpoint: Endpoint


@contextmanager
def _second_collector(stack: Stack) -> Iterator[SecondCollector]:
    ports = claim_ports({"grpc": 0, "http": 0})
    endpoint = Endpoint(f"127.0.0.1:{ports['grpc']}", f"127.0.0.1:{ports['http']}")
    environment = environment_of(stack.settings, "collector") | {
        "COLLECTOR_GRPC_BIND": endpoint.grpc,
        "COLLECTOR_HTTP_BIND": endpoint.http,
        "COLLECTOR_STATE_DIR": str(stack.settings.data_dir / "collector-2"),
    }
    spec = ChildSpec("collector", "collector", environment, lambda _: is_serving(endpoint.grpc))
    child = Child(spec, stack.log_dir / "collector-2.log")
    child.start()
    try:
        wait_until(lambda: child.spec.is_ready(child), "the second collector serves")
        yield SecondCollector(child, endpoint)
    finally:
        child.stop()
        child.wait_stopped(time.monotonic() + 20)


def _start_senders(
    tokens: dict[str, str], endpoints: tuple[Endpoint, ...], sent: SendLog
) -> list[threading.Thread]:
    """One thread per dataset, signal and collector, each over gRPC or HTTP."""
    per_sender = RECORDS // (len(tokens) * len(SIGNALS) * len(endpoints)) + 1
    threads = []
    for number, endpoint in enumerate(endpoints):
        for dataset, token in tokens.items():
            for kind in SIGNALS:
                sender = (
                    HttpSender(endpoint.http, token)
                    if kind == "logs"
                    else GrpcSender(endpoint.grpc, token)
                )
                records = make_records(kind, per_sender, f"{dataset}-{number}", MIDDAY_NANOS)
                arguments = (sender, dataset, records, sent)
                threads.append(threading.Thread(target=_send_all, args=arguments, daemon=True))
    for thread in threads:
        thread.start()
    return threads


def _send_all(
    sender: GrpcSender | HttpSender, dataset: str, records: list[Record], sent: SendLog
) -> None:
    for part, payload in exports(records):
        wait_until(
            partial(sender.send, part[0].signal, payload),
            "an export to be acknowledged",
            seconds=SEND_SECS_MAX,
            poll_secs=0.2,
        )
        sent.add(dataset, part)


def _kill_nursery_after_its_first_segment(stack: Stack, client: MetaClient) -> None:
    wait_until(
        lambda: any(find_all(client, name) for name in DATASETS),
        "a first merged segment is visible",
        tick=stack.check,
        poll_secs=0.02,
    )
    pid = stack.children["nursery"].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    stack.check()


def _kill_merge_worker_inside_a_task(stack: Stack, client: MetaClient) -> None:
    """Freeze the worker when a task looks claimed; kill it if the task is still claimed then."""

    def killed() -> bool:
        pid = stack.children["merge_worker"].pid
        if pid is None or not _claimed(client):
            return False
        os.kill(pid, signal.SIGSTOP)
        if _claimed(client):
            os.kill(pid, signal.SIGKILL)
            return True
        os.kill(pid, signal.SIGCONT)
        return False

    wait_until(killed, "a merge task is claimed", tick=stack.check, poll_secs=0.02)
    stack.check()


def _claimed(client: MetaClient) -> bool:
    tasks = client.janitor.ListMergeTasks(ListMergeTasksRequest()).tasks
    return any(task.assigned_to_worker for task in tasks)


def _join(senders: list[threading.Thread], stack: Stack) -> None:
    wait_until(
        lambda: not any(thread.is_alive() for thread in senders),
        "every export is acknowledged",
        seconds=SEND_SECS_MAX,
        tick=stack.check,
    )


def _stop_collectors(stack: Stack, second: Child) -> None:
    """SIGTERM both; from here on the stack must not restart its own."""
    own = stack.detach("collector")
    for child in (own, second):
        child.stop()
        assert child.wait_stopped(time.monotonic() + 30), "a collector did not end by itself"


def _streams(client: MetaClient) -> list[IngestStreamInfo]:
    reply = client.nursery.GetIngestStreamsForNursery(GetIngestStreamsRequest())
    for stream in reply.streams:
        merged = [d.merged_offset for d in stream.datasets]
        assert stream.deleted_offset <= min(merged, default=stream.committed_offset)
        assert max(merged, default=-1) <= stream.committed_offset
    return list(reply.streams)


def _version(client: MetaClient) -> int:
    return client.operations.GetServerState(GetServerStateRequest()).version


def _expected(sent: SendLog) -> dict[str, Counter[Record]]:
    expected = {name: Counter(records) for name, records in sent.acknowledged.items()}
    assert sum(bag.total() for bag in expected.values()) >= RECORDS
    return expected


def _compact(stack: Stack, client: MetaClient) -> None:
    """Plan merges until nothing is left to merge."""

    def done() -> bool:
        created = client.janitor.CreateMergeTasks(CreateMergeTasksRequest()).tasks_created
        open_tasks = client.janitor.ListMergeTasks(ListMergeTasksRequest()).tasks
        return created == 0 and not open_tasks

    wait_until(done, "no merge is left to do", tick=stack.check, poll_secs=0.5)


def _swept(client: MetaClient, root: Path) -> set[str]:
    """Return the objects of the datasets, once what was never registered is deleted.

    A writer that is killed between its file and the registration leaves an orphan. The janitor
    deletes it after a day, by this sweep; here all writers are done.
    """
    store = open_store(StoreLocation.from_url(root.as_uri()))
    sweep(store, Condemnation(client, store), store.now_nanos(), Shutdown())
    return _objects(root / "dataset")


def _objects(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if path.is_file()}
