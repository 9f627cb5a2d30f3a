"""Fixtures for pairs of calls in every order of their statements."""

from collections.abc import Iterator

import pytest

from meta import metrics
from meta.commits.process_reports import ProcessReports
from meta.services.catalog.service import CatalogServicer
from meta.services.streams.ingest_token import IngestTokenServicer
from meta.services.streams.ingestion import IngestionServicer
from tests.support.interleaving.in_process_calls import InProcessScene
from tests.support.interleaving.interleaver import Interleaver
from tests.support.interleaving.operators import Operator
from tests.support.meta.server import MetaServer


@pytest.fixture
def scene(meta_server: MetaServer) -> InProcessScene:
    """Prepare state and make calls over the server's own database."""
    return InProcessScene(meta_server)


@pytest.fixture
def operator(scene: InProcessScene) -> Operator:
    """Manage tokens and datasets over the server's own database."""
    part = (scene.transactions, scene.settings)
    return Operator(
        scene,
        CatalogServicer(*part),
        IngestTokenServicer(*part),
        IngestionServicer(*part, ProcessReports(scene.transactions)),
    )


@pytest.fixture
def interleaver(meta_server: MetaServer) -> Iterator[Interleaver]:
    """Explore over the server's own connection pool; no schedule may end in a deadlock."""
    before = _deadlocks()
    database = meta_server.running.database
    yield Interleaver(database.engine, meta_server.settings.database.url)
    assert _deadlocks() == before


def _deadlocks() -> float:
    name = "segplane_transaction_retries_total"
    return metrics.META.get_sample_value(name, {"sqlstate": "40P01"}) or 0.0
