"""Surroundings of a collector under test: meta, its database and the object store."""

from dataclasses import dataclass, replace
from uuid import UUID, uuid4

import psycopg
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData

from meta.client import MetaClient
from meta.v1 import catalog_pb2, ingest_token_pb2, ingestion_pb2, nursery_pb2, operations_pb2
from segments.baby import Baby, decode_baby
from segments.keys import baby_key
from segments.signals import Signal
from segments.store.interface import ObjectStore
from tests.support.meta.server import MetaServer


@dataclass(frozen=True)
class GroundToken:
    """A token made for a test, and the dataset that all its signals go to."""

    token_secret: str
    token_id: str
    dataset_id: str
    dataset_name: str


@dataclass(frozen=True)
class Ground:
    """Surroundings of a collector: meta, its database and the object store."""

    meta: MetaServer
    database_url: str
    store: ObjectStore
    # Of the tokens that were made here, where others use the same meta; None = all is ours.
    dataset_ids: set[str] | None = None

    @property
    def client(self) -> MetaClient:
        """Client of the meta."""
        return self.meta.client

    def stop_meta(self) -> None:
        """Let meta answer nothing more."""
        running = self.meta.running
        running.loop.run(running.server.stop(0))

    def new_token(self, beside: GroundToken | None = None) -> GroundToken:
        """Make a token that routes to the dataset of another one, by default to a new dataset."""
        name = f"d-{uuid4().hex[:8]}"
        if beside is None:
            dataset = self.client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=name))
            dataset_id, dataset_name = dataset.id, name
            if self.dataset_ids is not None:
                self.dataset_ids.add(dataset_id)
        else:
            dataset_id, dataset_name = beside.dataset_id, beside.dataset_name
        made = self.client.ingest_token.CreateIngestToken(
            ingest_token_pb2.CreateIngestTokenRequest(name=name, dataset_name=dataset_name)
        )
        return GroundToken(made.plaintext_token, made.token.id, dataset_id, dataset_name)

    def set_limits(self, token: GroundToken, **limits: int) -> None:
        """Set limits of the ingest tokens of a token's dataset."""
        self.client.operations.SetDatasetSettings(
            operations_pb2.SetDatasetSettingsRequest(
                dataset_id=token.dataset_id,
                settings=operations_pb2.DatasetSettings(
                    ingest_limits=operations_pb2.IngestLimits(**limits)
                ),
            )
        )

    def register(self, collector_id: str, token: GroundToken) -> tuple[str, int]:
        """Register as a collector would; returns stream id and next offset."""
        request = ingestion_pb2.RegisterForStreamRequest(
            collector_id=collector_id, ingest_token=token.token_secret
        )
        reply = self.client.ingestion.RegisterForStream(request)
        return reply.stream_id, reply.next_offset

    def stop_stream(self, stream_id: str, final_offset: int) -> None:
        """Stop a stream as a nursery does whose collector seems dead."""
        self.client.nursery.MarkStreamStopped(
            nursery_pb2.MarkStreamStoppedRequest(
                stream_id=stream_id,
                final_offset=final_offset,
                reason=nursery_pb2.STOP_REASON_TIMEOUT,
            )
        )

    def commits(self) -> list[tuple[str, int, int]]:
        """Every committed baby as (stream, offset, records), in order."""
        ours = None if self.dataset_ids is None else [UUID(one) for one in self.dataset_ids]
        with psycopg.connect(self.database_url) as connection:
            rows = connection.execute(
                'SELECT stream_id, "offset", num_records FROM baby_segments'
                " WHERE %(ours)s::uuid[] IS NULL OR dataset_ids && %(ours)s::uuid[]"
                ' ORDER BY stream_id, "offset"',
                {"ours": ours},
            ).fetchall()
        return [(str(stream), offset, records) for stream, offset, records in rows]

    def baby(self, stream_id: str, offset: int) -> Baby:
        """Read one baby."""
        return decode_baby(self.store.get(baby_key(stream_id, offset)))

    def committed_babies(self) -> list[Baby]:
        """Read every committed baby that has an object; of it, the parts that are ours."""
        babies = [self.baby(stream, offset) for stream, offset, _ in self.commits()]
        if self.dataset_ids is None:
            return babies
        return [
            replace(baby, parts=tuple(p for p in baby.parts if p.dataset_id in self.dataset_ids))
            for baby in babies
        ]

    def committed_counts(self) -> dict[str, dict[Signal, int]]:
        """Count the committed records by dataset (empty: none) and signal."""
        counts: dict[str, dict[Signal, int]] = {}
        for baby in self.committed_babies():
            for part in baby.parts:
                of_dataset = counts.setdefault(part.dataset_id or "", {})
                of_dataset[part.signal] = of_dataset.get(part.signal, 0) + part.num_records
        return counts

    def committed_ids(self) -> list[str]:
        """The ids of all log records in committed babies, sorted."""
        return sorted(log.body.string_value for log in self.committed_logs())

    def committed_logs(self) -> list[LogRecord]:
        """All log records in committed babies."""
        return [
            record
            for baby in self.committed_babies()
            for part in baby.parts
            if part.signal == "logs"
            for payload in part.slices
            for resource in LogsData.FromString(payload).resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]
