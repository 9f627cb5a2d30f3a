"""A driver of ingestion: a collector that registers and commits without writing babies."""

from dataclasses import dataclass

from meta.client import MetaClient
from meta.v1 import ingestion_pb2
from tests.support.meta.catalog import Token


@dataclass(frozen=True)
class IngestionDriver:
    """One collector, which commits babies of fixed facts unless told otherwise."""

    client: MetaClient
    collector_id: str

    def register(self, token: Token) -> ingestion_pb2.RegisterForStreamResponse:
        return self.client.ingestion.RegisterForStream(
            ingestion_pb2.RegisterForStreamRequest(
                collector_id=self.collector_id, ingest_token=token.plaintext
            )
        )

    def commit(
        self,
        stream_id: str,
        offset: int,
        *dataset_ids: str,
        flush_id: bytes = b"",
        size_bytes: int = 1_000,
        num_records: int = 10,
    ) -> ingestion_pb2.CommitOffsetResponse:
        return self.client.ingestion.CommitOffset(
            ingestion_pb2.CommitOffsetRequest(
                stream_id=stream_id,
                committed_offset=offset,
                start_time=1_000,
                end_time=2_000,
                size_bytes=size_bytes,
                num_records=num_records,
                flush_id=flush_id,
                dataset_ids=dataset_ids,
            )
        )
