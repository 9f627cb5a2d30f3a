"""A driver of the catalog: datasets, tokens, routing."""

from dataclasses import dataclass
from uuid import uuid4

from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2, ingest_token_pb2


@dataclass(frozen=True)
class Token:
    """A created ingest token with its secret."""

    id: str
    plaintext: str


@dataclass(frozen=True)
class CatalogDriver:
    """Makes datasets and tokens with their own names."""

    client: MetaClient

    def dataset(self, name: str = "") -> str:
        """Create a dataset; answers its id."""
        request = catalog_pb2.CreateDatasetRequest(name=name or f"dataset-{uuid4().hex}")
        return self.client.catalog.CreateDataset(request).id

    def shard(self, dataset_id: str, *fields: common_pb2.ShardingField) -> None:
        """Replace the sharding fields of a dataset."""
        request = catalog_pb2.SetShardingFieldsRequest(id=dataset_id, fields=fields)
        self.client.catalog.SetShardingFields(request)

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
