"""Ingest tokens: secrets, routing, revocation, deletion."""

from uuid import uuid4

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.errors import (
    InvalidArgument,
    NameTaken,
    NotDrained,
    NotFound,
    TokenRevoked,
    TokenUnknown,
)
from meta.v1 import ingest_token_pb2
from tests.support.meta.catalog import CatalogDriver, Token
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.one_meta


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def token(catalog: CatalogDriver, dataset: str) -> Token:
    return catalog.token(dataset)


def validate(client: MetaClient, plaintext: str) -> ingest_token_pb2.ValidateIngestTokenResponse:
    return client.ingest_token.ValidateIngestToken(
        ingest_token_pb2.ValidateIngestTokenRequest(plaintext_token=plaintext)
    )


def info(client: MetaClient, token: Token) -> ingest_token_pb2.IngestTokenInfo:
    request = ingest_token_pb2.GetIngestTokenRequest(token_id=token.id)
    return client.ingest_token.GetIngestToken(request).token


def delete(client: MetaClient, token: Token) -> None:
    client.ingest_token.DeleteIngestToken(
        ingest_token_pb2.DeleteIngestTokenRequest(token_id=token.id)
    )


def test_a_new_token_routes_all_signals_to_its_dataset(
    meta_client: MetaClient, token: Token, dataset: str
) -> None:
    reply = validate(meta_client, token.plaintext)

    assert reply.token_id == token.id
    routing = reply.routing
    assert {routing.logs_dataset_id, routing.traces_dataset_id, routing.metrics_dataset_id} == {
        dataset
    }


@pytest.mark.one_meta(False)
def test_the_plaintext_is_nowhere_in_the_database(meta_server: MetaServer, token: Token) -> None:
    with meta_server.running.database.read() as tx:
        row = str(tx.execute(text("SELECT * FROM ingest_tokens")).one())

    assert token.plaintext not in row
    assert token.plaintext[3:40] not in row


def test_the_hint_is_the_end_of_the_plaintext(meta_client: MetaClient, token: Token) -> None:
    found = info(meta_client, token)

    assert found.token_hint == token.plaintext[-4:]
    assert found.created_at.endswith("Z")
    assert found.revoked_at == ""


def test_a_name_stays_taken_until_the_token_is_deleted(
    meta_client: MetaClient, catalog: CatalogDriver, token: Token, dataset: str
) -> None:
    request = ingest_token_pb2.CreateIngestTokenRequest(
        name=info(meta_client, token).name, dataset_name=catalog.dataset_name(dataset)
    )
    with pytest.raises(NameTaken):
        meta_client.ingest_token.CreateIngestToken(request)
    catalog.revoke(token)
    with pytest.raises(NameTaken):
        meta_client.ingest_token.CreateIngestToken(request)

    delete(meta_client, token)

    assert meta_client.ingest_token.CreateIngestToken(request).token.id != token.id


def test_a_token_for_an_unknown_dataset_is_not_made(meta_client: MetaClient) -> None:
    with pytest.raises(NotFound):
        meta_client.ingest_token.CreateIngestToken(
            ingest_token_pb2.CreateIngestTokenRequest(name="a", dataset_name="nowhere")
        )


def test_revoking_again_keeps_the_first_time(
    meta_client: MetaClient, catalog: CatalogDriver, token: Token
) -> None:
    catalog.revoke(token)
    first = info(meta_client, token).revoked_at

    catalog.revoke(token)

    assert info(meta_client, token).revoked_at == first != ""
    with pytest.raises(TokenUnknown):
        validate(meta_client, token.plaintext)


def test_an_active_token_cannot_be_deleted(meta_client: MetaClient, token: Token) -> None:
    with pytest.raises(NotDrained):
        delete(meta_client, token)


def test_a_token_is_deleted_once_its_streams_have_merged_past_the_revocation(
    meta_client: MetaClient,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    token: Token,
    dataset: str,
) -> None:
    stream = collector.register(token).stream_id
    collector.commit(stream, 0, dataset)
    catalog.revoke(token)
    collector.commit(stream, 1, dataset)
    with pytest.raises(NotDrained) as refused:
        delete(meta_client, token)
    assert refused.value.metadata["stream_id"] == stream

    nursery.merge(dataset, stream, -1, 0)
    delete(meta_client, token)
    delete(meta_client, token)

    with pytest.raises(NotFound):
        info(meta_client, token)


def test_unknown_tokens_are_not_found_but_deleting_them_is_ok(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    unknown = Token(str(uuid4()), "")

    with pytest.raises(NotFound):
        catalog.revoke(unknown)
    with pytest.raises(NotFound):
        catalog.route(unknown)
    delete(meta_client, unknown)


@pytest.mark.one_meta(False)
def test_tokens_are_listed_oldest_first(
    meta_client: MetaClient, catalog: CatalogDriver, dataset: str
) -> None:
    made = [catalog.token(dataset).id for _ in range(3)]

    reply = meta_client.ingest_token.ListIngestTokens(ingest_token_pb2.ListIngestTokensRequest())

    assert [t.id for t in reply.tokens] == made


@pytest.mark.one_meta(False)
def test_a_routing_change_gives_carrying_streams_entries_at_their_offset(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    token: Token,
    dataset: str,
) -> None:
    stream = collector.register(token).stream_id
    collector.commit(stream, 0, dataset)
    before = nursery.poll().response_seq
    other = catalog.dataset()

    catalog.route(token, logs=other)

    assert nursery.merged_offset(stream, other) == 0
    assert nursery.merged_offset(stream, dataset) == -1
    assert nursery.poll().response_seq > before
    assert [s.stream_id for s in nursery.poll(since_seq=before).streams] == [stream]


def test_an_empty_routing_refuses_the_signal(
    meta_client: MetaClient, catalog: CatalogDriver, token: Token, dataset: str
) -> None:
    catalog.route(token, traces=dataset)

    routing = validate(meta_client, token.plaintext).routing
    assert (routing.logs_dataset_id, routing.traces_dataset_id) == ("", dataset)


def test_routing_to_unknown_datasets_or_of_revoked_tokens_is_refused(
    catalog: CatalogDriver, token: Token, dataset: str
) -> None:
    with pytest.raises(NotFound):
        catalog.route(token, logs=str(uuid4()))
    with pytest.raises(InvalidArgument):
        catalog.route(token, logs="x")
    catalog.revoke(token)
    with pytest.raises(TokenRevoked):
        catalog.route(token, logs=dataset)


def test_unstamped_babies_are_routed_by_the_period_of_their_offset(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    token: Token,
    dataset: str,
) -> None:
    stream = collector.register(token).stream_id
    other = catalog.dataset()
    collector.commit(stream, 0)
    catalog.route(token, logs=other)
    collector.commit(stream, 1)
    catalog.revoke(token)

    history = nursery.poll().routing_history

    assert [(p.from_offset, p.routing.logs_dataset_id) for p in history] == [
        (0, dataset),
        (1, other),
    ]
    assert {(p.stream_id, p.token_id) for p in history} == {(stream, token.id)}
    assert token.id not in [r.token_id for r in nursery.poll().token_routing]


def test_what_was_done_to_a_token_is_in_the_audit_log(
    meta_server: MetaServer,
    meta_client: MetaClient,
    catalog: CatalogDriver,
    token: Token,
    dataset: str,
) -> None:
    catalog.route(token, logs=dataset)
    catalog.route(token, logs=dataset)
    catalog.revoke(token)
    catalog.revoke(token)
    delete(meta_client, token)

    with meta_server.running.database.read() as tx:
        rows = tx.execute(
            text("SELECT rpc, detail FROM audit_log WHERE subject_id = :id ORDER BY id"),
            {"id": token.id},
        ).all()

    assert [row.rpc for row in rows] == [
        "CreateIngestToken",
        "UpdateIngestTokenRouting",
        "RevokeIngestToken",
        "DeleteIngestToken",
    ]
    assert token.plaintext not in str(rows)
