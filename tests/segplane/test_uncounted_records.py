"""Quarantined schema violations that no registration counts: rows, as a rule."""

import json

import pytest

from meta.errors import NothingToRepair
from meta.v1 import operations_pb2 as pb
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, write_and_fail
from tests.support.schema_violations import (
    CONFORMING,
    NULL,
    OTHERS,
    PRICES,
    QUARANTINE,
    bind,
    choose,
    listed,
    seen,
    send,
    withheld,
)

CONSENT = pb.LossAcceptance(accept_loss=True, actor="op", reason="why")


@pytest.fixture
def collector(meta_server: MetaServer) -> CollectorDriver:
    return CollectorDriver(meta_server.client, dataset(meta_server.client))


def test_records_that_became_rows_after_a_nursery_died_are_never_replayed(
    run: RunCommand, collector: CollectorDriver
) -> None:
    bind(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, *PRICES)
    nursery(collector.client, write_and_fail).cycle()
    choose(collector.client, collector.dataset_id, NULL)
    nursery(collector.client).cycle()
    (item,) = listed(run)

    refused = run("quarantine", "replay", item["key"])
    forced = run("quarantine", "replay", item["key"], "--as-is", "--uncounted")
    request = pb.BeginReplayRequest(
        object_key=item["key"], dataset_id=collector.dataset_id, acceptance=CONSENT
    )
    with pytest.raises(NothingToRepair, match="no registration counts"):
        collector.client.operations.BeginReplay(request)

    assert seen(collector) == sorted(CONFORMING + OTHERS)
    assert "no registration counts the payload" in refused.stderr
    assert "no registration counts the payload" in forced.stderr
    assert withheld(run) == {"uncounted": (1, 2)}


def test_a_payload_whose_records_are_rows_is_not_a_loss(
    run: RunCommand, collector: CollectorDriver
) -> None:
    bind(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, *PRICES)
    nursery(collector.client, write_and_fail).cycle()
    choose(collector.client, collector.dataset_id, NULL)
    nursery(collector.client).cycle()
    (item,) = listed(run)

    refused = run("quarantine", "drop", item["key"], "--accept-loss", "--reason", "noise")

    assert refused.exit_code == 1
    assert "no registration counts the payload" in refused.stderr
    assert json.loads(run("losses", "--json").stdout) == []
    assert len(listed(run)) == 1
    assert seen(collector) == sorted(CONFORMING + OTHERS)


def test_an_uncounted_payload_is_discarded_where_its_records_are_held(
    run: RunCommand, collector: CollectorDriver
) -> None:
    bind(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, *PRICES)
    nursery(collector.client, write_and_fail).cycle()
    (item,) = listed(run)
    early = run("quarantine", "drop", item["key"], "--held-elsewhere")
    choose(collector.client, collector.dataset_id, NULL)
    nursery(collector.client).cycle()

    done = run("quarantine", "drop", item["key"], "--held-elsewhere", "--reason", "rows")

    assert (early.exit_code, done.exit_code) == (1, 0), done.stderr
    assert "not yet up to 0" in early.stderr
    request = pb.ListAuditRecordsRequest(rpc="DropPayload")
    (noted,) = collector.client.operations.ListAuditRecords(request).records
    assert noted.subject_id == item["key"]
    assert noted.detail.startswith(f"held in dataset {collector.dataset_id}, ")
    assert noted.detail.endswith(": rows")
    assert listed(run) == []
    assert withheld(run) == {}
    assert seen(collector) == sorted(CONFORMING + OTHERS)


def test_a_payload_that_counts_or_has_no_note_is_not_discarded(
    run: RunCommand, collector: CollectorDriver
) -> None:
    bind(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, *PRICES)
    nursery(collector.client).cycle()
    (item,) = listed(run)

    counted = run("quarantine", "drop", item["key"], "--held-elsewhere")
    request = pb.DropPayloadRequest(
        object_key=item["key"], dataset_id=collector.dataset_id, held=True, acceptance=CONSENT
    )
    with pytest.raises(NothingToRepair, match="the payload counts"):
        collector.client.operations.DropPayload(request)
    collector.store.delete([f"{item['key']}.json"])
    unknown = run("quarantine", "drop", item["key"], "--held-elsewhere")

    assert (counted.exit_code, unknown.exit_code) == (1, 1)
    assert "counts: replay it" in counted.stderr
    assert "names no dataset" in unknown.stderr
    assert len(listed(run)) == 1
