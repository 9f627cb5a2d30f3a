"""An installation with something on each page of its state, some of it with hostile names."""

from dataclasses import dataclass

from dataplane.babies.payload import Payload
from dataplane.location import ask_location
from meta.client import MetaClient
from meta.v1 import operations_pb2 as ops
from nursery.execution.quarantine import Quarantine
from segments.store.open import open_stores
from tests.segplane.console.browser.web_shop import HOSTILE
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import WorkerDriver

# A dataset's name with markup; tabs and marks of direction are refused in names.
NAME = """<img src=x onerror=alert(3)> "orders" {{ 'u' * 7 }}"""
REASON = f"object ingest-stream/17.parquet cannot be read: {HOSTILE}"

WORKER = f"worker {HOSTILE[:40]}"


@dataclass(frozen=True)
class Installation:
    """Ids of what the pages show."""

    stream: str
    segment: str
    task: str

    @classmethod
    def create(
        cls, client: MetaClient, name: str = NAME, reason: str = REASON, worker_id: str = WORKER
    ) -> "Installation":
        """Commit, merge, fail a merge, park a stream, and quarantine a payload."""
        catalog = CatalogDriver(client)
        dataset = catalog.dataset(name)
        token = catalog.token(dataset)
        nursery, worker = NurseryDriver(client), WorkerDriver(client, worker_id)
        stream = _stream(client, token, dataset, "collector-1", 12)
        for first in range(-1, 9, 2):
            nursery.merge(dataset, stream, first, first + 2)
        other = _stream(client, token, dataset, "collector-2", 6)
        nursery.merge(dataset, other, -1, 1)
        park = ops.ParkStreamRequest(stream_id=other, offset=3, reason=reason)
        client.operations.ParkStream(park)
        payload = Payload(other, 0, token.id, "logs", 0, b"x", 1, 1, is_validated=False)
        store = open_stores(ask_location(client, "test").stores)
        Quarantine(store).put_payload(payload, "undecodable", reason, dataset)
        worker.plan()
        task = worker.poll()
        worker.fail(task)
        return cls(other, task.segments[0].id, task.task_id)

    def pages(self) -> tuple[str, ...]:
        """Return the addresses of all pages about it."""
        return (
            *("/ui/pipeline", "/ui/streams", f"/ui/streams/{self.stream}", "/ui/merges"),
            *(f"/ui/merges/task?id={self.task}", f"/ui/merges/segment?id={self.segment}"),
            *("/ui/deletion", "/ui/dataset?dataset=default", "/ui/streams?state=stopped"),
            *("/ui/streams?state=lost", "/ui/quarantine"),
        )


def _stream(client: MetaClient, token: object, dataset: str, name: str, number: int) -> str:
    collector = IngestionDriver(client, name)
    stream = collector.register(token).stream_id  # type: ignore[arg-type]
    for offset in range(number):
        collector.commit(stream, offset, dataset)
    return stream
