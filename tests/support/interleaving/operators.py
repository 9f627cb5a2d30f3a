"""An operator's and a collector's calls, made inside this process."""

from dataclasses import dataclass
from uuid import UUID, uuid4

from meta.services.catalog.service import CatalogServicer
from meta.services.streams.ingest_token import IngestTokenServicer
from meta.services.streams.ingestion import IngestionServicer
from meta.v1 import catalog_pb2, ingest_token_pb2, ingestion_pb2
from tests.support.interleaving.in_process_calls import InProcessScene


@dataclass(frozen=True)
class Operator:
    """Manages tokens and datasets, and registers collectors."""

    scene: InProcessScene
    catalog: CatalogServicer
    tokens: IngestTokenServicer
    ingestion: IngestionServicer

    def token(self, dataset_id: UUID) -> tuple[str, str]:
        """Create a token; answers its id and its plaintext."""
        name = self.scene.name_of(dataset_id)
        request = ingest_token_pb2.CreateIngestTokenRequest(name=uuid4().hex, dataset_name=name)
        reply = self.tokens.CreateIngestToken(request)
        return reply.token.id, reply.plaintext_token

    def route(self, token_id: str, dataset_id: UUID) -> None:
        one = str(dataset_id)
        routing = ingest_token_pb2.IngestTokenRouting(
            logs_dataset_id=one, traces_dataset_id=one, metrics_dataset_id=one
        )
        request = ingest_token_pb2.UpdateIngestTokenRoutingRequest(
            token_id=token_id, routing=routing
        )
        self.tokens.UpdateIngestTokenRouting(request)

    def admit(self, collector_id: str, plaintext: str) -> UUID:
        request = ingestion_pb2.RegisterForStreamRequest(
            collector_id=collector_id, ingest_token=plaintext
        )
        return UUID(self.ingestion.RegisterForStream(request).stream_id)

    def delete(self, dataset_id: UUID) -> bool:
        request = catalog_pb2.DeleteDatasetRequest(id=str(dataset_id))
        return self.catalog.DeleteDataset(request).success
