"""Fresh records of tenants come from a gateway, and no caller of a tenant gets a baby segment."""

import json
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from click.testing import CliRunner
from google.protobuf.descriptor import Descriptor

from meta.config import Settings
from meta.errors import RoleRefused, VersionExpired
from meta.limited_calls import TENANT_ROWS
from meta.roles import Role
from meta.v1 import operations_pb2 as pb
from segments.keys import baby_key
from segplane.__main__ import app
from segplane.read import OpenDataset, ReadError, open_dataset
from segplane.read.rows.fresh import find_fresh
from segplane.read.rows.passed_payloads import PassedPayloads
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.tenant_collector import SharedCollector, shared_collector
from tests.support.gateway.tenants import NAMES, SharedGateway, shared_gateway
from tests.support.meta.methods import METHODS
from tests.support.nursery.drivers import logs, nursery

Offset = tuple[str, int]


@pytest.fixture
def shared(
    meta_settings: Settings, query_pool: SharedPool, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SharedGateway]:
    with shared_gateway(meta_settings, query_pool) as running:
        monkeypatch.setenv("SEGPLANE_GATEWAY_ADDRESS", f"127.0.0.1:{running.gateway.port}")
        yield running


@pytest.fixture
def collector(shared: SharedGateway) -> Iterator[SharedCollector]:
    with shared_collector(shared) as running:
        yield running


def opened(shared: SharedGateway, token: str, **options: object) -> OpenDataset:
    address = shared.tenants.guard.address
    return open_dataset("shop/web", fresh=True, meta_address=address, token=token, **options)  # type: ignore[arg-type]


def babies(shared: SharedGateway, tenant: str) -> set[Offset]:
    request = pb.ListUnmergedBabiesRequest(dataset_id=shared.datasets[tenant])
    reply = shared.tenants.guard.admin.operations.ListUnmergedBabies(request)
    return {(s.stream_id, baby.offset) for s in reply.streams for baby in s.babies}


def send_to_both(shared: SharedGateway, collector: SharedCollector) -> Offset:
    """Send a record of each tenant until one baby segment has both; returns it."""
    for _ in range(20):
        collector.send({name: logs(f"fresh of {name}") for name in NAMES})
        if both := babies(shared, "payments") & babies(shared, "search"):
            return both.pop()
    raise AssertionError("the collector puts no two exports into one baby segment")


@pytest.mark.long
def test_each_tenant_reads_its_own_payloads_of_a_shared_baby(
    shared: SharedGateway, collector: SharedCollector, meta_settings: Settings
) -> None:
    stream_id, _ = send_to_both(shared, collector)
    rows, sent, versions = {}, {}, {}
    for name in NAMES:
        with opened(shared, shared.tokens[name]) as dataset:
            assert dataset.fresh is not None
            sent[name] = len(dataset.fresh.passed or ())
            assert (dataset.fresh.babies, dataset.cut) == ([], {})
            versions[name] = dataset.version
            # A second reading has the same records.
            for _ in range(2):
                rows[name] = dataset.to_table()
                expected = Counter({f"of {name}": 1, f"fresh of {name}": sent[name]})
                assert Counter(map(str, rows[name]["body"].to_pylist())) == expected
        answer = shared.get(name, "v1/groups/shop/datasets/web/fresh")
        other = next(each for each in NAMES if each != name)
        assert (answer.status, answer.body.count(f"fresh of {name}".encode())) == (200, sent[name])
        secrets = (f"of {other}", stream_id, shared.datasets[other], "ingest-stream", "offset")
        assert not [text for text in secrets if text.encode() in answer.body]
        environment = {
            "SEGPLANE_META_ADDRESS": shared.tenants.guard.address,
            "SEGPLANE_META_AUTH_TOKEN": shared.tokens[name],
        }
        query = ("query", "['shop/web'] | project body", "--fresh")
        done = CliRunner().invoke(app, query, env=environment)
        assert done.exit_code == 0, done.stderr
        assert done.stdout.count(f"fresh of {name}") == sent[name]

    nursery(shared.tenants.guard.admin).cycle()

    for name in NAMES:
        with opened(shared, shared.tokens[name]) as dataset:
            assert not (dataset.fresh and dataset.fresh.has_any)
            merged = dataset.to_table()
        # With ids and times: each record is the one that was read before.
        assert Counter(map(str, merged.to_pylist())) == Counter(map(str, rows[name].to_pylist()))

    # Beyond the former version, baby segments may be deleted once the grace is over.
    with psycopg.connect(meta_settings.database.url) as connection:
        connection.execute("UPDATE registrations SET created_at = created_at - interval '1 day'")
    for name in NAMES:
        client = getattr(shared.tenants, name)
        with pytest.raises(VersionExpired):
            find_fresh(client, shared.datasets[name], versions[name])


@pytest.mark.long
def test_no_caller_of_a_tenant_reaches_a_baby_or_anothers_payload(
    shared: SharedGateway,
    collector: SharedCollector,
    meta_settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream_id, offset = send_to_both(shared, collector)
    for name in NAMES:
        client = getattr(shared.tenants, name)
        for dataset_id in shared.datasets.values():
            with pytest.raises(RoleRefused):
                client.operations.ListUnmergedBabies(
                    pb.ListUnmergedBabiesRequest(dataset_id=dataset_id)
                )
    theirs, never = shared.datasets["search"], str(uuid4())
    answers = [
        shared.get("payments", f"v1/dataset-ids/{dataset_id}/fresh")
        for dataset_id in (theirs, never)
    ]
    texts = [(answer.status, answer.message.replace(theirs, never)) for answer in answers]
    assert texts[0] == texts[1]
    assert texts[0][0] == 404
    # Readers of `default` use the gateway too, limited ones and those that share with tenants.
    guard = shared.tenants.guard
    for names in (["default"], []):
        reader = guard.token(Role.READER, dataset_names=names).plaintext_token
        with open_dataset(
            "default", fresh=True, meta_address=guard.address, token=reader
        ) as dataset:
            assert dataset.to_table().num_rows == 0
            assert dataset.fresh is not None
            assert dataset.fresh.passed is not None
    # A reason is given without the key of the baby segment.
    (Path("/", meta_settings.location.path) / baby_key(stream_id, offset)).unlink()
    with pytest.raises(ReadError, match="cannot be read now") as refused:
        opened(shared, shared.tokens["payments"])
    assert stream_id not in str(refused.value)
    monkeypatch.setenv("SEGPLANE_GATEWAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(ReadError, match=r"come from a gateway: .* does not answer"):
        opened(shared, shared.tokens["payments"])


def test_no_call_of_a_tenant_answers_with_baby_segments() -> None:
    of_tenants = {
        method.name: messages_of(method.output_type, set())
        for method in METHODS
        if method.name in TENANT_ROWS.get(method.containing_service.name, ())
    }

    assert len(of_tenants) > 50
    assert not [name for name, messages in of_tenants.items() if any("Bab" in m for m in messages)]
    with_streams = [name for name, messages in of_tenants.items() if "StreamOffsetAt" in messages]
    assert with_streams == ["GetOffsetsAt"]


def messages_of(message: Descriptor, found: set[str]) -> set[str]:
    """The names of all messages that may be in a message."""
    if message.name not in found:
        found.add(message.name)
        for field in message.fields:
            if field.message_type is not None:
                messages_of(field.message_type, found)
    return found


def test_an_answer_that_is_cut_off_is_not_taken_for_a_whole_one() -> None:
    head = {"signal": "logs", "position": "a", "received_at": 1, "decoded_bytes": 300, "digest": ""}
    frame = json.dumps(head | {"size_bytes": 3}).encode() + b"\nabc"
    end = json.dumps({"end": True, "left_out": 2, "merged_only": False}).encode() + b"\n"

    whole = PassedPayloads(BytesIO(frame + frame + end))

    assert [payload.body for payload in whole] == [b"abc", b"abc"]
    assert (whole.left_out, whole.rows) == (2, 4)
    for content in (b"", frame, frame[:-1], frame + end[:-1]):
        with pytest.raises(ReadError, match="cut off"):
            PassedPayloads(BytesIO(content))
    with pytest.raises(ReadError, match=r"^why$"):
        PassedPayloads(BytesIO(b'{"error": {"message": "why", "reason": ""}}\n'))
