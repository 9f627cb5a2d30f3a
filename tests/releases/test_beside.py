"""Processes of the release before beside those of today: one database, one bucket."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.errors import UpgradeUnfinished
from meta.v1 import resources_pb2 as pb
from tests.releases.recorded_catalog import SETTINGS, Tokens
from tests.releases.recorded_run import (
    ADMIN,
    EVERYTHING,
    Installation,
    Sender,
    installation,
    wait_until_merged,
)
from tests.support.meta.server import MetaServer
from tests.support.releases.client import DescribedClient
from tests.support.releases.records import acknowledged, read
from tests.support.releases.release import RELEASE_BEFORE, needs_release

pytestmark = [
    pytest.mark.slow,
    pytest.mark.releases,
    pytest.mark.database_owner,
    needs_release,
]
# Labels of records, as parts of their ids.
LABELS = ("old-to-new", "new-to-old")


@pytest.fixture
def before(database_url: str, objects: Path) -> Iterator[Installation]:
    """Run the release before over its recorded database."""
    with installation(RELEASE_BEFORE, database_url, objects.parent) as run:
        assert run.meta.port
        yield run


@pytest.fixture
def admin_of_today(before: Installation, meta_server: MetaServer) -> Iterator[MetaClient]:
    """Today's meta, to a caller with the credential that the recorded database asks for."""
    with MetaClient(meta_server.address, auth_token=ADMIN) as client:
        yield client


# `before` starts first: meta of today migrates a database that it serves.
def test_records_come_through_processes_of_both_releases(
    before: Installation, meta_server: MetaServer, tokens: Tokens
) -> None:
    expected = Counter(record.id for record in acknowledged(RELEASE_BEFORE, "web").elements())
    old_collector = before.start_collector(
        tokens.access["ingest"], "collector-4", META_ADDRESS=meta_server.address
    )
    today = replace(before, python=Path(sys.executable))
    new_collector = today.start_collector(tokens.access["ingest"], "collector-5")
    for collector, label in zip((old_collector, new_collector), LABELS, strict=True):
        Sender(before, collector, tokens.ingest["frontend"], EVERYTHING).send(label, 6)
    expected.update(row["id"] for row in before.sent)

    assert _read_before(before) == expected
    assert _read_today(meta_server, is_fresh=True) == expected
    for collector in (old_collector, new_collector):
        collector.stop()
    _merge(before, meta_server, tokens)
    assert _read_before(before) == expected
    assert _read_today(meta_server, is_fresh=False) == expected
    before.meta.stop()


def test_a_dataset_that_either_release_makes_is_read_by_both(
    before: Installation, meta_server: MetaServer, tokens: Tokens
) -> None:
    expected: dict[str, Counter[str]] = {}
    addresses = {"made-before": before.address, "made-today": meta_server.address}
    for number, (name, address) in enumerate(addresses.items(), start=4):
        with DescribedClient(RELEASE_BEFORE, address, ADMIN) as admin:
            dataset = admin.call("CatalogService.CreateDataset", {"name": name})
            request = {"dataset_id": dataset["id"], "settings": SETTINGS["web"]}
            admin.call("OperationsService.SetDatasetSettings", request)
            request = {"name": name, "dataset_name": name}
            made = admin.call("IngestTokenService.CreateIngestToken", request)
        # The token of one release comes to a collector of the other.
        collector = before.start_collector(
            tokens.access["ingest"],
            f"collector-{number}",
            META_ADDRESS=next(other for other in addresses.values() if other != address),
        )
        Sender(before, collector, made["plaintext_token"], {"logs": name}).send(name, 3)
        collector.stop()
        expected[name] = Counter(row["id"] for row in before.sent if row["dataset"] == name)

    for name, ids in expected.items():
        assert ids.total() == 3
        assert _read_before(before, name, ("logs",)) == ids
        assert _read_today(meta_server, name, is_fresh=True) == ids
    before.meta.stop()


def test_what_the_release_before_would_not_obey_waits_for_the_finish(
    before: Installation, admin_of_today: MetaClient
) -> None:
    resources = admin_of_today.resources
    web = pb.ResourceRef(kind=pb.RESOURCE_KIND_DATASET, name="web")
    calls: tuple[Callable[[], object], ...] = (
        lambda: resources.LockResource(pb.LockResourceRequest(resource=web, reason="a case")),
        lambda: resources.CreateGroup(pb.CreateGroupRequest(name="shop")),
        lambda: resources.VacuumDatasets(
            pb.VacuumDatasetsRequest(
                vacuum_id=str(uuid4()), dataset_name="web", older_than_secs=3_600
            )
        ),
    )

    for call in calls:
        with pytest.raises(UpgradeUnfinished, match="run `segplane migrate --finish`"):
            call()

    # Nothing of them is left for the other meta, which changes and deletes the dataset as before.
    with before.client(ADMIN) as admin:
        listed = admin.call("CatalogService.ListDatasets")["items"]
        assert "web" in {dataset["name"] for dataset in listed}
        dataset_id = admin.call("CatalogService.CreateDataset", {"name": "passing"})["id"]
        admin.call("CatalogService.DeleteDataset", {"id": dataset_id})
    before.meta.stop()


def _merge(before: Installation, meta_server: MetaServer, tokens: Tokens) -> None:
    """Let the other processes of the release before work for today's meta."""
    today, access = {"META_ADDRESS": meta_server.address}, tokens.access
    pace = {"INTERVAL_SECS": "0.2", "SPARK_MASTER": "local[1]", **today}
    nursery = before.start("nursery", access["nursery"], WAIT_SECS="0.2", **pace)
    worker = before.start("merge_worker", access["merge"], **pace)
    janitor = before.start("janitor", access["janitor"], MERGE_INTERVAL_SECS="0.5", **today)
    with DescribedClient(RELEASE_BEFORE, meta_server.address, ADMIN) as admin:
        wait_until_merged(admin)
    worker.wait_for("merge_task_completed")
    before.load_table(access["gateway"], "web", **today)
    for process in (janitor, nursery, worker):
        process.stop()


def _read_before(
    before: Installation, dataset: str = "web", signals: Iterable[str] = EVERYTHING
) -> Counter[str]:
    """Read ids of records, a promoted column, by the release's command line from its own meta."""
    ids: Counter[str] = Counter()
    for signal in signals:
        options = ("--signal", signal, "--columns", "record")
        output = before.command(
            "read", dataset, "--fresh", "--format", "json", "--output", "-", *options
        )
        ids.update(json.loads(line)["record"] for line in output.splitlines())
    return ids


def _read_today(meta_server: MetaServer, dataset: str = "web", *, is_fresh: bool) -> Counter[str]:
    records = read(meta_server.address, ADMIN, dataset, is_fresh=is_fresh)
    return Counter(record.id for record in records.elements())
