"""Drivers for service tests: a collector and a nursery that say only what a test is about."""

from dataclasses import dataclass
from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.v1 import catalog_pb2, ingest_token_pb2, ingestion_pb2


@dataclass(frozen=True)
class Token:
    """A created ingest token with its secret."""

    id: str
    plaintext: str


@dataclass(frozen=True)
class Catalog:
    """Makes datasets and tokens with names of their own."""

    client: MetaClient

    def dataset(self, name: str = "") -> str:
        """Create a dataset; answers its id."""
        request = catalog_pb2.CreateDatasetRequest(name=name or f"dataset-{uuid4().hex}")
        return self.client.catalog.CreateDataset(request).id

    def dataset_name(self, dataset_id: str) -> str:
        return self.client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=dataset_id)).name

    def token(self, dataset_id: str) -> Token:
        """Create a token whose signals all go to a dataset."""
        reply = self.client.ingest_token.CreateIngestToken(
            ingest_token_pb2.CreateIngestTokenRequest(
                name=f"token-{uuid4().hex}", dataset_name=self.dataset_name(dataset_id)
            )
        )
        return Token(reply.token.id, reply.plaintext_token)

    def route(self, token: Token, logs: str = "", traces: str = "", metrics: str = "") -> None:
        """Replace where a token's signals go."""
        self.client.ingest_token.UpdateIngestTokenRouting(
            ingest_token_pb2.UpdateIngestTokenRoutingRequest(
                token_id=token.id,
                routing=ingest_token_pb2.IngestTokenRouting(
                    logs_dataset_id=logs, traces_dataset_id=traces, metrics_dataset_id=metrics
                ),
            )
        )

    def revoke(self, token: Token) -> None:
        self.client.ingest_token.RevokeIngestToken(
            ingest_token_pb2.RevokeIngestTokenRequest(token_id=token.id)
        )


@dataclass(frozen=True)
class Collector:
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


@pytest.fixture
def catalog(meta_client: MetaClient) -> Catalog:
    """Make datasets and tokens."""
    return Catalog(meta_client)


@pytest.fixture
def collector(meta_client: MetaClient) -> Collector:
    """Give a collector with a name of its own."""
    return Collector(meta_client, f"collector-{uuid4().hex}")
