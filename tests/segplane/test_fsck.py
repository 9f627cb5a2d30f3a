"""segplane fsck: compared in pages, resumable, and repaired where no judgement is needed."""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from meta.client import MetaClient
from meta.server import server
from meta.v1 import operations_pb2 as pb
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from segments.errors import StoreUnavailable
from segments.keys import new_merged_key
from segments.location import Stores
from segments.store.interface import ObjectInfo, ObjectStore
from segplane.__main__ import app
from segplane.fsck import catalog_check, check_cursor
from segplane.fsck.check_cursor import CatalogCursor
from tests.support.command_line import RunCommand
from tests.support.merge_worker.case import Case
from tests.support.meta import backups
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import (
    CollectorDriver,
    nursery,
    run_here,
    texts,
    write_and_fail,
)

NOW = ("--orphan-age-secs", "0")


@pytest.fixture
def case(meta_client: MetaClient, tmp_path: Path) -> Case:
    return Case(meta_client, tmp_path)


@dataclass(frozen=True)
class CutListing:
    """A store whose listing fails after some objects, counted over all calls."""

    store: ObjectStore
    left: Iterator[int]

    def list(self, prefix: str, start_after: str = "") -> Iterator[ObjectInfo]:
        for info in self.store.list(prefix, start_after):
            if next(self.left, None) is None:
                raise StoreUnavailable("the test said so")
            yield info


def violations(run: RunCommand, *options: str) -> list[tuple[str, str]]:
    report = json.loads(run("fsck", "--json", *options).stdout)
    return [(v["invariant"], v["subject"]) for v in report["violations"]]


def test_what_is_compared_is_counted(run: RunCommand, case: Case) -> None:
    case.save(1)
    case.save(2)
    collector = CollectorDriver(case.client, case.dataset_id)
    collector.send("a")
    case.store.put_if_absent("dataset/no such name", b"")

    report = json.loads(run("fsck", "--json").stdout)

    names = ("streams", "segments", "babies", "objects", "foreign", "num_violations")
    assert [report[name] for name in names] == [1, 2, 1, 4, 1, 0]


def test_an_interrupted_check_goes_on_and_forgets_nothing(
    run: RunCommand, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(6):
        case.save(seed)
    monkeypatch.setattr(catalog_check, "OBJECTS_PER_MESSAGE", 2)
    keys = sorted(case.key(segment) for segment in case.find())
    case.store.delete([keys[0], keys[5]])
    path = tmp_path / "cursor.json"
    store = CutListing(case.store, iter(range(3)))

    with pytest.raises(StoreUnavailable):
        catalog_check.check_catalog(
            case.client,
            store,  # type: ignore[arg-type]
            CatalogCursor(),
            lambda cursor: check_cursor.save(path, cursor),
        )
    kept = check_cursor.load(path, CatalogCursor(), ("orphan_age_secs",))
    done = run("fsck", "--cursor", str(path), "--json")

    assert (kept.after_key, kept.objects, kept.num_findings) == (keys[2], 2, 1)
    report = json.loads(done.stdout)
    assert report["objects"] == 4
    assert sorted(v["message"].split(":")[0] for v in report["violations"]) == [keys[0], keys[5]]
    assert not path.exists()


def test_findings_beyond_the_limit_are_only_counted(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(4):
        case.save(seed)
    case.store.delete([case.key(segment) for segment in case.find()])
    monkeypatch.setattr(check_cursor, "KEPT_MAX", 3)

    report = catalog_check.check(case.client, is_deep=False, orphan_age_secs=0)

    assert (len(report.violations), report.num_violations) == (3, 4)


def test_repair_recounts_statistics_and_cancels_dead_tasks(
    run: RunCommand, case: Case, database_url: str
) -> None:
    for seed in range(16):
        case.save(seed)
    assert case.plan() == 1
    (first, *_) = case.find()
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE segments SET tombstone_version = created_version + 1, tombstone_at = now()"
            " WHERE id = %s",
            (first.id,),
        )
    assert {invariant for invariant, _ in violations(run)} == {"I11", "I20"}

    repaired = run("fsck", "--repair")

    assert repaired.exit_code == 1
    assert "recounted: " in repaired.stdout
    assert "cancelled: " in repaired.stdout
    assert violations(run) == []


def test_repair_condemns_orphans_for_the_janitor(run: RunCommand, case: Case) -> None:
    collector = CollectorDriver(case.client, case.dataset_id)
    collector.send("a")
    nursery(case.client, write_and_fail).cycle()
    (key,) = (info.key for info in case.store.list("dataset/"))
    nursery(case.client).cycle()
    unreadable = new_merged_key(case.dataset_id)
    case.store.put_if_absent(unreadable, b"nobody's")

    repaired = run("fsck", "--repair", *NOW)

    # The unreadable one is not known.
    assert repaired.exit_code == 1
    assert f"condemned: {key}" in repaired.stdout
    assert f"condemned: {unreadable}" not in repaired.stdout
    request = pb.CondemnObjectsRequest(object_keys=[key, unreadable], dry_run=True)
    reply = case.client.operations.CondemnObjects(request)
    assert list(reply.condemned_keys) == [key]
    assert list(reply.unknown_keys) == [unreadable]
    assert case.store.get(unreadable) == b"nobody's"


def test_a_hold_stops_the_repair_that_condemns(run: RunCommand, case: Case) -> None:
    collector = CollectorDriver(case.client, case.dataset_id)
    collector.send("a")
    nursery(case.client, write_and_fail).cycle()
    (key,) = (info.key for info in case.store.list("dataset/"))
    nursery(case.client).cycle()
    case.client.operations.HoldDeletion(pb.HoldDeletionRequest())

    held = run("fsck", "--repair", *NOW)

    assert "left: 1 orphans: " in held.stdout
    assert "condemned" not in held.stdout
    case.client.operations.ReleaseDeletionHold(pb.ReleaseDeletionHoldRequest())
    assert f"condemned: {key}" in run("fsck", "--repair", *NOW).stdout


def test_what_the_database_does_not_know_is_named_at_once_with_its_records(
    run: RunCommand,
    case: Case,
    meta_server: MetaServer,
    empty_database_url: str,
    tmp_path: Path,
) -> None:
    """The database comes back from a real dump; the objects are seconds old."""
    known = CollectorDriver(case.client, case.dataset_id)
    known.send("before")
    nursery(case.client).cycle()
    backups.dump(meta_server.settings.database.url, tmp_path / "dump")
    fresh = CollectorDriver(case.client, case.dataset_id)
    for number in range(4):
        fresh.send(*(f"{number} {row}" for row in range(20)))
    nursery(case.client).cycle()
    known.send("in the tail", "twice")
    before = run("fsck")
    assert before.exit_code == 0, before.output
    assert "not known" not in before.stdout
    database = replace(meta_server.settings.database, url=empty_database_url)
    backups.restore(tmp_path / "dump", empty_database_url)

    settings = replace(meta_server.settings, database=database, bind="127.0.0.1:0")
    restored = server.start(settings)
    try:
        environment = {"SEGPLANE_META_ADDRESS": f"127.0.0.1:{restored.port}"}
        checked = CliRunner().invoke(app, ["fsck"], env=environment)
        as_json = CliRunner().invoke(app, ["fsck", "--json"], env=environment)
    finally:
        restored.stop(2.0)

    assert checked.exit_code == 1
    assert "not known: 4 babies of 1 unknown stream, 80 records\n" in checked.stdout
    assert (
        "not known: 1 baby beyond the committed offsets of known streams, 2 rec" in checked.stdout
    )
    assert "not known: 1 merged segment, 80 records\n" in checked.stdout
    assert "0 violations, 0 orphans" in checked.stdout
    found = json.loads(as_json.stdout[as_json.stdout.index("{") :])["not_known"]
    assert (found["stream_babies"], found["stream_records"], found["segments"]) == (4, 80, 1)


def test_repair_registers_a_batch_that_holds_a_missing_baby(run: RunCommand, case: Case) -> None:
    """A nursery died between its upload and its registration; then the babies were lost."""
    collector = CollectorDriver(case.client, case.dataset_id)
    collector.send("a", "b")
    collector.send("c")

    def die(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        run_here(tasks, where)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nursery(case.client, die).cycle()
    case.store.delete([info.key for info in case.store.list("ingest-stream/")])
    assert violations(run) == [("I9", collector.stream_id)] * 2

    repaired = run("fsck", "--repair", *NOW)

    assert "registered: " in repaired.stdout, repaired.output
    assert texts(collector) == ["a", "b", "c"]
    clean = run("fsck", "--deep", *NOW)
    assert clean.exit_code == 0, clean.output
    assert "0 violations, 0 orphans" in clean.stdout


def test_a_missing_segment_is_left_to_the_operator(run: RunCommand, case: Case) -> None:
    case.save(1)
    (segment,) = case.find()
    case.store.delete([case.key(segment)])

    repaired = run("fsck", "--repair")

    assert repaired.exit_code == 1
    assert f"segplane segments hide {segment.id} --accept-loss" in repaired.stdout


def test_a_batch_in_two_live_segments_is_found_by_a_deep_check(
    run: RunCommand, case: Case, tmp_path: Path
) -> None:
    collector = CollectorDriver(case.client, case.dataset_id)
    collector.send("a")
    nursery(case.client).cycle()
    (segment,) = case.find()
    body = case.store.get(case.key(segment))
    twin = new_merged_key(case.dataset_id)
    case.store.put_if_absent(twin, body)
    case.register(twin, segment)

    assert [invariant for invariant, _ in violations(run, "--deep")] == ["I2"]
    assert violations(run) == []


def test_keys_that_no_writer_gives_do_not_end_the_check(run: RunCommand, case: Case) -> None:
    for name in itertools.islice(("bad\x07name", "x" * 200), 2):
        Path("/", case.store.location.path, "dataset").mkdir(exist_ok=True)
        Path("/", case.store.location.path, "dataset", name).write_bytes(b"")

    assert violations(run) == []
