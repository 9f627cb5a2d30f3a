"""A stream of two datasets, of which one may receive nothing."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.checks import ledger_checks
from meta.store.streams import merged_floors
from tests.support.meta.catalog import CatalogDriver, Token
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer


@dataclass(frozen=True)
class TwoDatasets:
    """A stream whose token routes to two datasets; nothing is committed yet."""

    server: MetaServer
    nursery: NurseryDriver
    collector: IngestionDriver
    token: Token
    stream: str
    web: str
    app: str

    def merged(self) -> tuple[int, int]:
        """The merged offsets of web and app."""
        offsets = {e.dataset_id: e.merged_offset for e in self.nursery.stream(self.stream).datasets}
        return offsets[self.web], offsets[self.app]

    def sweep(self) -> None:
        """Raise the floor."""
        database, ids = self.server.running.database, [UUID(self.stream)]
        with database.write() as tx:
            merged_floors.raise_floors(tx, ids)

    def count(self, statement: str) -> int:
        with self.server.running.database.read() as tx:
            values = {"stream": self.stream, "app": self.app}
            return int(tx.execute(text(statement), values).scalar_one())

    def execute(self, statement: str) -> None:
        with self.server.running.database.write() as tx:
            tx.execute(text(statement), {"stream": self.stream, "app": self.app})

    def findings(self) -> list[str]:
        with self.server.running.database.read() as tx:
            pages = [ledger_checks.read_page(tx, k, None, 10) for k in ledger_checks.KINDS]
        return [finding.kind for page in pages for finding in page.findings]

    @classmethod
    def create(cls, server: MetaServer) -> "TwoDatasets":
        """Create the datasets, and a stream whose token routes to both."""
        catalog = CatalogDriver(server.client)
        web, app = catalog.dataset("web"), catalog.dataset("app")
        collector = IngestionDriver(server.client, "collector")
        token = catalog.token(web)
        catalog.route(token, logs=web, traces=app)
        stream = collector.register(token).stream_id
        return cls(server, NurseryDriver(server.client), collector, token, stream, web, app)
