"""A collector that puts real babies and commits them, and a nursery without Spark."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from google.protobuf.message import DecodeError
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from collector.otlp.export import digest_of
from dataplane.clocks import Clock
from dataplane.stream_poll import Shards
from meta.client import MetaClient, location
from meta.v1 import (
    catalog_pb2,
    ingest_token_pb2,
    ingestion_pb2,
    nursery_pb2,
    segment_lookup_pb2,
)
from nursery.config import Settings
from nursery.execution.execute import Budget, execute
from nursery.execution.job import TaskOutcome
from nursery.loop import Nursery, RunTasks
from nursery.planning.tasks import Task
from segments.baby import Baby, BabyKind, Export, TokenPart, decode_baby, encode_baby
from segments.errors import TaskFailed
from segments.keys import baby_key, join_key
from segments.location import Stores
from segments.parquet.reader import read_segment
from segments.store.interface import ObjectStore
from segments.store.open import open_store, open_stores

EAGER = Settings(wait_secs=0.0, idle_advance_secs=0.0, reap_interval_secs=0.0)
BUDGET = Budget(1 << 26, 1 << 28)
NOW = 1_700_000_000 * 10**9


def run_here(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
    """Run tasks in this process."""
    outcomes: list[TaskOutcome] = []
    for index, task in enumerate(tasks):
        with tempfile.TemporaryDirectory() as folder:
            outcomes.append((index, execute(task, open_stores(where), BUDGET, Path(folder))))
    return outcomes


def fail_all(tasks: Sequence[Task], message: str) -> list[TaskOutcome]:
    """Fail every task, as if its process had ended."""
    return [(index, TaskFailed(message)) for index in range(len(tasks))]


def write_and_fail(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
    """Write everything and die before anything is registered."""
    run_here(tasks, where)
    return fail_all(tasks, "the driver died")


def nursery(
    client: MetaClient,
    run_tasks: RunTasks = run_here,
    settings: Settings = EAGER,
    clock: Clock | None = None,
    shard: tuple[int, int] = (0, 1),
    **changes: float,
) -> Nursery:
    """A nursery that merges whatever there is in a shard of a number."""
    changed = replace(settings, **changes)  # type: ignore[arg-type]
    return Nursery(client, changed, run_tasks, 2, clock=clock, shards=_FixedShard(*shard))


class _FixedShard:
    """One shard of a number, which meta does not lease."""

    def __init__(self, index: int, count: int) -> None:
        self._shards = Shards((index,), count)

    def acquire(self) -> Shards:
        return self._shards

    def release(self) -> None:
        """Nothing to give back."""


def dataset(client: MetaClient) -> str:
    """Create a dataset; returns its id."""
    request = catalog_pb2.CreateDatasetRequest(name=f"dataset-{uuid4().hex}")
    return client.catalog.CreateDataset(request).id


def _records(payload: bytes) -> int:
    """Records of a payload, as a collector stamps them; a damaged one counts as one."""
    try:
        data = LogsData.FromString(payload)
    except DecodeError:
        return 1
    return sum(len(s.log_records) for r in data.resource_logs for s in r.scope_logs)


@dataclass
class CollectorDriver:
    """One stream with one token, all of whose signals go to one dataset.

    `tenant_client` is one of the dataset's tenant, None = `default`.
    """

    client: MetaClient
    dataset_id: str
    collector_id: str = field(default_factory=lambda: uuid4().hex)
    next_offset: int = 0
    tenant_client: MetaClient | None = None

    def __post_init__(self) -> None:
        client = self.tenant_client or self.client
        found = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=self.dataset_id))
        created = client.ingest_token.CreateIngestToken(
            ingest_token_pb2.CreateIngestTokenRequest(
                name=f"token-{uuid4().hex}", dataset_name=found.name
            )
        )
        self.token_id = created.token.id
        reply = self.client.ingestion.RegisterForStream(
            ingestion_pb2.RegisterForStreamRequest(
                collector_id=self.collector_id, ingest_token=created.plaintext_token
            )
        )
        self.stream_id = reply.stream_id
        bucket = reply.config.cloud_object_prefix.bucket
        self.store: ObjectStore = open_store(location(bucket))

    def route(self, dataset_id: str) -> None:
        """Send all signals elsewhere from now on."""
        self.client.ingest_token.UpdateIngestTokenRouting(
            ingest_token_pb2.UpdateIngestTokenRoutingRequest(
                token_id=self.token_id,
                routing=ingest_token_pb2.IngestTokenRouting(
                    logs_dataset_id=dataset_id,
                    traces_dataset_id=dataset_id,
                    metrics_dataset_id=dataset_id,
                ),
            )
        )
        self.dataset_id = dataset_id

    def put(
        self,
        *texts: str,
        kind: BabyKind = BabyKind.DATA,
        is_stamped: bool = True,
        payloads: Sequence[bytes] = (),
    ) -> Baby:
        """Put the next baby, with one log record per text, and commit nothing."""
        slices = (*(logs(text) for text in texts), *payloads)
        part = TokenPart(
            self.token_id,
            "logs",
            slices,
            self.dataset_id if is_stamped else None,
            sum(map(_records, slices)) if is_stamped else 0,
            NOW if is_stamped else 0,
            NOW if is_stamped else 0,
            tuple(self._export(body) for body in slices) if is_stamped else (),
        )
        baby = Baby(
            parts=(part,) if slices else (),
            kind=kind if is_stamped else BabyKind.UNSPECIFIED,
            flush_id=uuid4().bytes if is_stamped else b"",
            received_at=NOW if is_stamped else 0,
            is_stamped=is_stamped,
        )
        self.store.put_if_absent(baby_key(self.stream_id, self.next_offset), encode_baby(baby))
        self.next_offset += 1
        return baby

    def _export(self, payload: bytes) -> Export:
        return Export(digest_of(self.token_id, "logs", payload), NOW)

    def send(self, *texts: str, is_stamped: bool = True) -> None:
        """Put and commit a baby."""
        self.commit(self.put(*texts, is_stamped=is_stamped))

    def commit_again(self, offset: int) -> None:
        """Commit a baby as it stands in the bucket."""
        self.next_offset, last = offset + 1, self.next_offset
        self.commit(decode_baby(self.store.get(baby_key(self.stream_id, offset))))
        self.next_offset = max(last, offset + 1)

    def commit(self, baby: Baby, num_records: int | None = None) -> None:
        """Commit the baby that was put last, with its own number of records or another one."""
        start_time, end_time = baby.time_range()
        if num_records is None:
            num_records = sum(_records(body) for part in baby.parts for body in part.slices)
        self.client.ingestion.CommitOffset(
            ingestion_pb2.CommitOffsetRequest(
                stream_id=self.stream_id,
                committed_offset=self.next_offset - 1,
                start_time=start_time,
                end_time=end_time,
                size_bytes=len(encode_baby(baby)),
                num_records=num_records,
                flush_id=baby.flush_id,
                dataset_ids=baby.dataset_ids,
            )
        )

    def stop(self) -> None:
        """Write and commit the stop message, then end the stream."""
        self.commit(self.put(kind=BabyKind.STOP))
        self.client.nursery.MarkStreamStopped(
            nursery_pb2.MarkStreamStoppedRequest(
                stream_id=self.stream_id,
                final_offset=self.next_offset - 1,
                reason=nursery_pb2.STOP_REASON_CLIENT,
            )
        )

    def info(self) -> nursery_pb2.IngestStreamInfo | None:
        """The stream as meta returns it; None once it has retired."""
        reply = self.client.nursery.GetIngestStreamsForNursery(
            nursery_pb2.GetIngestStreamsRequest()
        )
        return next((s for s in reply.streams if s.stream_id == self.stream_id), None)

    def merged(self) -> dict[str, int]:
        """Merged offset by dataset."""
        info = self.info()
        return {} if info is None else {d.dataset_id: d.merged_offset for d in info.datasets}


def texts(collector: CollectorDriver, dataset_id: str | None = None) -> list[str]:
    """Every log body that readers of the dataset see now."""
    reply = collector.client.segment_lookup.FindSegments(segment_lookup_pb2.FindSegmentsRequest())
    found: list[str] = []
    for segment in reply.segments:
        if segment.dataset_id == (dataset_id or collector.dataset_id):
            where = segment.cloud_object_key
            key = join_key(where.prefix.prefix, where.key)
            found.extend(map(str, read_segment(collector.store, key)["logs"]["body"].to_pylist()))
    return sorted(found)


def logs(text: str) -> bytes:
    """One log record."""
    data = LogsData()
    records = data.resource_logs.add().scope_logs.add().log_records
    records.add(time_unix_nano=NOW).body.string_value = text
    return data.SerializeToString()
