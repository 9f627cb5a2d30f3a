"""Inputs of senders in the field: each is answered as documented and read as sent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from meta.v1 import catalog_pb2, ingest_token_pb2
from meta.v1 import operations_pb2 as pb
from segplane.stack.postgres import EmbeddedPostgres
from tests.support.field.comparing import differences, nanos
from tests.support.field.doors import Rows, doors
from tests.support.field.inputs import FieldInput, read_all
from tests.support.field.sending import Sent, send
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.meta.shared import shared_meta
from tests.support.meta.traffic import collector_process
from tests.support.nursery.drivers import nursery

INPUTS = read_all()
DATASET = "field"
DOORS = ("segplane.read", "SQL", "KQL", "HTTP", "Iceberg")
NANOS_PER_MICRO = 1_000


@dataclass(frozen=True)
class Field:
    """Answers to all inputs, and the rows of each door."""

    sent: Mapping[str, Sent]
    rows: Mapping[str, Rows]

    def rows_of(self, door: str, name: str) -> Rows:
        """The rows of one input, which no other was received beside."""
        sent = self.sent[name]
        first = sent.began_at // NANOS_PER_MICRO * NANOS_PER_MICRO
        return [row for row in self.rows[door] if first <= received_at(row) <= sent.ended_at]


def received_at(row: dict[str, object]) -> int:
    """The time at which a collector received a row's export, in nanoseconds."""
    return nanos(row["ingested_at"])


@pytest.fixture(scope="module")
def meta_server(
    postgres: EmbeddedPostgres, template_database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MetaServer]:
    """A meta whose collectors flush at once."""
    folder = tmp_path_factory.mktemp("field") / "objects"
    with shared_meta(
        postgres, template_database, folder, {"META_FLUSH_TIMEOUT_MS": "10"}
    ) as running:
        yield running


@pytest.fixture(scope="module")
def field(meta_server: MetaServer) -> Iterator[Field]:
    """Send every input, merge all that was taken, and read it through every door."""
    client, pool = meta_server.client, SharedPool()
    dataset = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=DATASET))
    settings = pb.DatasetSettings(record_ids=True)
    client.operations.SetDatasetSettings(
        pb.SetDatasetSettingsRequest(dataset_id=dataset.id, settings=settings)
    )
    token = client.ingest_token.CreateIngestToken(
        ingest_token_pb2.CreateIngestTokenRequest(name=DATASET, dataset_name=DATASET)
    ).plaintext_token
    with collector_process(COLLECTOR_META_ADDRESS=meta_server.address) as collector:
        sent = {each.name: send(collector, token, each) for each in INPUTS}
    nursery(client).cycle()
    gateway = GatewayServer(meta_server.address, pool=pool)
    try:
        ways = doors(meta_server.address, gateway, DATASET)
        assert tuple(ways) == DOORS
        yield Field(sent, {name: way() for name, way in ways.items()})
    finally:
        gateway.close()
        pool.end()


@pytest.mark.parametrize("field_input", INPUTS, ids=lambda each: each.name)
def test_an_input_of_the_field_is_answered_and_read_as_documented(
    field: Field, field_input: FieldInput
) -> None:
    field_input.check_form()
    sent, reply = field.sent[field_input.name], field_input.reply

    assert (sent.status, sent.rejected) == (reply.status, reply.rejected), sent.text
    assert reply.accepted in (None, sent.accepted), sent.text
    assert [text for text in reply.says if text not in sent.text] == [], sent.text
    for door in DOORS:
        rows = field.rows_of(door, field_input.name)
        found = differences(field_input.rows, rows)
        assert not found, "\n".join([f"by {door}:", *found])


def test_no_row_of_the_field_belongs_to_no_input(field: Field) -> None:
    assert len(INPUTS) >= 150
    for door in DOORS:
        assert sum(len(field.rows_of(door, each.name)) for each in INPUTS) == len(field.rows[door])
        assert len(field.rows[door]) == sum(len(each.rows) for each in INPUTS)
