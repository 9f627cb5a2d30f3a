"""Segments that come back have no keys: the report names the datasets and what to do."""

import json
from pathlib import Path

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.v1 import catalog_pb2
from segments.keys import baby_key
from segplane.fsck.lost_deduplication_keys import once_again
from segplane.recovery import lost_segments, unknown_babies
from segplane.recovery.deduplication import claim_rows
from tests.support.events_once import bind_once, duplicates, orders
from tests.support.meta import backups
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, texts
from tests.support.reconciling import command, running, with_lifetimes


@pytest.fixture(autouse=True)
def _no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collectors of these tests do not write by themselves."""
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)
    monkeypatch.setattr(lost_segments, "_SKEW_NANOS", 0)


def _send(collector: CollectorDriver, *names: str) -> None:
    collector.commit(collector.put(payloads=(orders(*names),)))


def _name(client: MetaClient, dataset_id: str) -> str:
    return client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=dataset_id)).name


@pytest.mark.long
def test_a_reconciliation_names_the_datasets_whose_events_came_back_without_identities(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    settings = with_lifetimes(meta_settings)
    with running(settings) as tools:
        known, plain = (CollectorDriver(tools.meta, dataset(tools.meta)) for _ in range(2))
        bind_once(tools.meta, known.dataset_id)
        _send(known, "before")
        nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        new = CollectorDriver(tools.meta, dataset(tools.meta))
        bind_once(tools.meta, new.dataset_id)
        for collector in (known, plain, new):
            _send(collector, "after")
        nursery(tools.meta).cycle()
        tools.store.delete(
            [baby_key(c.stream_id, o) for c in (known, plain, new) for o in range(c.next_offset)]
        )

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(settings, empty_database_url) as tools:
        dry = json.loads(command(settings, empty_database_url, "--dry-run", "--json").stdout)
        done = command(settings, empty_database_url)

        assert done.exit_code == 0, done.output
        name = _name(tools.meta, known.dataset_id)
        planned = {each["dataset_id"]: each for each in dry["segments"]["unclaimed"]}
        assert planned.keys() == {known.dataset_id, new.dataset_id}
        assert planned[known.dataset_id] == {
            "dataset_id": known.dataset_id,
            "dataset_name": name,
            "column": "order_id",
            "is_set": True,
        }
        assert not planned[new.dataset_id]["is_set"]
        lost = once_again(new.dataset_id, _name(tools.meta, new.dataset_id), "order_id")
        lines = done.stdout.splitlines()
        assert lost in lines
        assert sum(line.endswith(f"claim-keys {name}`") for line in lines) == 1

        claimed = claim_rows(tools.meta, tools.settings.meta_address, name)
        again = CollectorDriver(tools.meta, known.dataset_id)
        _send(again, "before", "after")
        nursery(tools.meta).cycle()
        assert claimed.claimed == 1
        assert texts(again) == ["after", "before"]
        assert duplicates(tools.meta, known.dataset_id) == 2
