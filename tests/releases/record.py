"""Records a release: its processes run for real, and what they leave becomes fixtures.

`make releases && python -m tests.releases.record 0.3.0` writes the folder of the release anew, all
but COMMIT and README.md. It runs releases from 0.3.0 on.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import grpc
import psycopg

from segplane.stack.postgres import EmbeddedPostgres
from tests.releases import recorded_datasets, recorded_replies
from tests.releases.recorded_catalog import Tokens, delete_dataset, make_catalog, revoke
from tests.releases.recorded_datasets import MOVED, RENAMED, TYPED
from tests.releases.recorded_run import (
    ADMIN,
    COLD,
    EVERYTHING,
    Installation,
    Sender,
    installation,
    spoil_stamps,
    spoil_text,
    wait_for_merge,
    wait_until_merged,
)
from tests.support.pipeline.sending import Signal
from tests.support.releases import database
from tests.support.releases.build import export
from tests.support.releases.client import DescribedClient
from tests.support.releases.processes import ReleaseProcess
from tests.support.releases.release import Release

BUF = Path(sys.executable).with_name("buf")
# A store's own folder; it is no object.
TEMPORARY = ".tmp"
_SETTING = re.compile(r"^\| `([A-Z_]+)`[ ,]", re.MULTILINE)
_OTHER_DATABASE = "UPDATE meta_state SET system_identifier = '{}'"
# Two other databases than the one of before, and a clock that nobody saw advance for two minutes.
_RESTORED = (_OTHER_DATABASE.format(1), _OTHER_DATABASE.format(2))
_UNOBSERVED = "UPDATE clock_state SET observed_at = observed_at - interval '2 minutes'"
_SPLIT: dict[Signal, str] = {"logs": "orders", "metrics": "web", "traces": "web"}


def record(release: Release) -> None:
    """Run a release and write its fixtures."""
    with tempfile.TemporaryDirectory(prefix="segplane-record-") as name:
        folder = Path(name)
        # Postgres may run as another user.
        folder.chmod(0o711)
        for store in ("objects", COLD):
            (folder / store).mkdir()
        _record_tree(release, folder / "tree")
        with EmbeddedPostgres(folder / "postgres") as postgres:
            _restore_twice(release, postgres.url, folder)
            with installation(release, postgres.url, folder) as run:
                tokens, key = _live(run)
                run.command("fsck", "--deep")
                run.command("fsck", "--data")
                _leave(run, key)
                replies = _replies(run)
                run.meta.stop()
            (release.fixtures / "database.sql").write_bytes(database.dump(postgres.url))
        _write_objects(run.objects, release.fixtures / "bucket")
        _write_objects(folder / COLD, release.fixtures / COLD)
        _write_lines(release.fixtures / "records.jsonl", run.sent)
        _write_lines(release.fixtures / "payments.jsonl", run.payments)
        _write_lines(release.fixtures / "replies.jsonl", replies)
        plaintexts = {"ingest": tokens.ingest, "access": tokens.access}
        (release.fixtures / "tokens.json").write_text(f"{json.dumps(plaintexts, indent=2)}\n")
    empty = database.empty_tables(release.fixtures / "database.sql")
    print("tables without rows:", *sorted(empty))


def _restore_twice(release: Release, url: str, folder: Path) -> None:
    """Start meta, as if the database had been restored twice and then been without a server."""
    for statement in (*_RESTORED, _UNOBSERVED):
        with installation(release, url, folder) as run:
            assert run.meta.port
            run.command("deletion", "release")
            run.meta.stop()
        with psycopg.connect(url) as connection:
            connection.execute(statement)


def _live(run: Installation) -> tuple[Tokens, str]:
    """Live a short life of everything; at its end meta alone runs.

    Returns the tokens and the key of an object that a pin alone holds.
    """
    with run.client("unknown") as stranger, suppress(grpc.RpcError):
        stranger.call("CatalogService.ListDatasets")
    with run.client(ADMIN) as admin:
        tokens = make_catalog(admin)
        recorded_datasets.make(admin, tokens)
        access, ingest = tokens.access, tokens.ingest
        pace = {"INTERVAL_SECS": "0.2", "SPARK_MASTER": "local[1]"}
        idle = {"WAIT_SECS": "0.2", "IDLE_ADVANCE_SECS": "1", "REAP_INTERVAL_SECS": "1"}
        nursery = run.start("nursery", access["nursery"], **pace, **idle)
        first = run.start_collector(access["ingest"], "collector-1")
        second = run.start_collector(access["ingest"], "collector-2")
        frontend = Sender(run, first, ingest["frontend"], EVERYTHING)
        shop = Sender(run, second, ingest["shop"], _SPLIT)
        third = run.start_collector(access["ingest"], "collector-3")
        Sender(run, third, ingest["old"], {"logs": "gone"}).send("old", 4)
        # Files of more than eight rows and of fewer are laid out in different ways.
        for number, count in enumerate((8, 2, 2, 2)):
            frontend.send(f"frontend-{number}", count)
            shop.send(f"shop-{number}", 2, is_http=True)
            recorded_datasets.send(run, third, tokens, number)
            wait_until_merged(admin)
        recorded_datasets.change_schema(admin)
        recorded_datasets.mend(run, admin)
        key = _compact(run, admin, access, pace)
        _lose(run, admin, Sender(run, first, ingest["shop"], {"logs": "orders"}), nursery)
        for number in range(4, 8):
            frontend.send(f"frontend-{number}", 2)
            recorded_datasets.send_payments(run, third, ingest[TYPED], number)
            wait_until_merged(admin)
        _change(run, admin, tokens)
        nursery.stop()
        frontend.send("frontend-fresh", 3)
        shop.send("shop-fresh", 3)
    # A clean stop ends a stream; after the other end it is open, and another process adopts it.
    first.stop()
    second.kill()
    return tokens, key


def _compact(
    run: Installation, admin: DescribedClient, access: dict[str, str], pace: dict[str, str]
) -> str:
    """Pin what is there, then let a janitor plan merges and a worker do them.

    Returns the key of an object that is merged and that a pin alone holds.
    """
    pin = {"pin_id": str(UUID(int=1)), "owner": "reader", "dataset_name": "web", "lease_secs": 3600}
    admin.call("OperationsService.PinVersion", pin)
    key = recorded_datasets.pin_inputs(admin)
    recorded_datasets.register_file(run, admin, "partner-early")
    worker = run.start("merge_worker", access["merge"], **pace)
    intervals = {"MERGE_INTERVAL_SECS": "0.5", "DELETION_INTERVAL_SECS": "0.5"}
    janitor = run.start("janitor", access["janitor"], **intervals)
    recorded_datasets.wait_until_mapped(admin)
    for name in ("web", MOVED, RENAMED):
        wait_for_merge(admin, name)
    janitor.stop()
    worker.stop()
    recorded_datasets.register_file(run, admin, "partner-late")
    return key


def _lose(
    run: Installation, admin: DescribedClient, sender: Sender, nursery: ReleaseProcess
) -> None:
    """Damage baby segments: two payloads stay in the quarantine, another one is given up."""
    sender.send_damaged(nursery, "kept", damage=spoil_text)
    sender.send_damaged(nursery, "spoiled", damage=spoil_stamps)
    known = run.files("quarantine")
    sender.send_damaged(nursery, "dropped", damage=spoil_text)
    (dropped,) = (
        path for path in run.files("quarantine") if path.suffix != ".json" and path not in known
    )
    key = dropped.relative_to(run.objects).as_posix()
    wait_until_merged(admin)
    run.command("quarantine", "drop", key, "--accept-loss", "--reason", "recorded")


def _change(run: Installation, admin: DescribedClient, tokens: Tokens) -> None:
    """Leave open work behind: merge tasks, a paused rewrite, a published table, a deletion."""
    run.load_table(tokens.access["gateway"], "web")
    plan = admin.call("JanitorService.CreateMergeTasks", {"dataset_name": "web"})
    assert plan.get("tasks_created"), "nothing to merge is left"
    orders = admin.call("CatalogService.GetDataset", {"name": "orders"})["id"]
    job = {"id": str(UUID(int=2)), "dataset_id": orders, "tasks_max": 1}
    admin.call("OperationsService.CreateRewriteJob", job)
    paused = {"id": job["id"], "state": "REWRITE_JOB_STATE_PAUSED"}
    admin.call("OperationsService.UpdateRewriteJob", paused)
    revoke(admin, "old")
    delete_dataset(admin, "gone")
    recorded_datasets.delete_kept(admin)


def _leave(run: Installation, key: str) -> None:
    """Leave what dead processes leave, as the last calls."""
    with run.client(ADMIN) as admin:
        streams = admin.call("NurseryService.GetIngestStreamsForNursery")["streams"]
        # That of the killed collector: another one serves a dataset that has merged everything.
        (stream,) = (
            stream
            for stream in streams
            if stream.get("unmerged_babies") and "stopped_offset" not in stream
        )
        recorded_datasets.leave_rows(admin, stream["stream_id"], stream["committed_offset"])
        recorded_datasets.leave_damage(admin, key)


def _replies(run: Installation) -> list[dict[str, Any]]:
    with run.client(ADMIN) as admin:
        return [
            {
                "method": method,
                "request": request,
                "reply": recorded_replies.ask(admin, method, request),
            }
            for method, request in list(recorded_replies.requests(admin))
        ]


def _record_tree(release: Release, tree: Path) -> None:
    """Write what the commit itself says: its descriptors and the names of its settings."""
    export(release, tree)
    descriptors = release.fixtures / "descriptors.binpb"
    build = (BUF, "build", tree, "--exclude-source-info", "-o", descriptors)
    subprocess.run(build, check=True)
    names = _SETTING.findall((tree / "docs" / "settings.md").read_text())
    (release.fixtures / "settings.txt").write_text("".join(f"{name}\n" for name in names))


def _write_objects(store: Path, bucket: Path) -> None:
    shutil.rmtree(bucket, ignore_errors=True)
    shutil.copytree(store, bucket, ignore=shutil.ignore_patterns(TEMPORARY))
    for path in bucket.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


if __name__ == "__main__":
    record(Release(sys.argv[1]))
