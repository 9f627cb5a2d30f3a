"""Ingest tokens of a suspended or deleted tenant: nothing new is taken, what was taken arrives."""

from collections.abc import Callable
from functools import partial

import pytest

from meta.client import MetaClient
from meta.errors import TokenUnknown
from meta.v1 import ingest_token_pb2 as pb
from tests.meta.test_tenants import execute
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.server import MetaServer
from tests.support.meta.tenants import TenantDriver


@pytest.mark.parametrize("state", ["suspend", "delete"])
def test_a_token_is_refused_and_its_accepted_records_are_committed(
    meta_client: MetaClient, meta_server: MetaServer, catalog: CatalogDriver, state: str
) -> None:
    tenants = TenantDriver(meta_client)
    payments = tenants.create("payments")
    dataset, beside = catalog.dataset("web"), catalog.dataset("beside")
    token, other = catalog.token(dataset), catalog.token(beside)
    collector = IngestionDriver(meta_client, "collector 1")
    stream = collector.register(token).stream_id
    for table, entry in (("datasets", dataset), ("ingest_tokens", token.id)):
        execute(
            meta_server,
            f"UPDATE {table} SET tenant_key = (SELECT key FROM tenants WHERE name = 'payments')"  # noqa: S608
            " WHERE id = %(entry)s",
            entry=entry,
        )
    request = pb.ValidateIngestTokenRequest(plaintext_token=token.plaintext)
    calls: tuple[Callable[[], object], ...] = (
        partial(meta_client.ingest_token.ValidateIngestToken, request),
        partial(collector.register, token),
        partial(IngestionDriver(meta_client, "collector 2").register, token),
    )

    getattr(tenants, state)("payments")

    for call in calls:
        with pytest.raises(TokenUnknown):
            call()
    # Accepted before by a collector, which has not heard of the suspension.
    assert not collector.commit(stream, 0, dataset).foreign_dataset_ids
    # Its neighbour on the stream is served.
    assert collector.register(other).stream_id == stream
    if state == "suspend":
        tenants.resume("payments")
    else:
        tenants.undelete(payments.id)
    for call in calls:
        call()
