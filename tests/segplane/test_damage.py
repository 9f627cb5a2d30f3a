"""Damage in a running stack: the janitor finds it, fsck says what to do, and a repair ends it."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner, Result
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from dataplane.object_checks import list_damaged
from meta.client import MetaClient
from segplane.__main__ import app
from segplane.stack.config import StackSettings
from segplane.stack.dev import COLLECTOR, Stack
from tests.support.nursery.drivers import nursery
from tests.support.waiting import wait_until

Damage = Callable[[Path], None]
# A pass after the other, as fast as it goes, and nothing else that deletes objects.
RESTLESS = {
    "JANITOR_SCRUB_BYTES_PER_SEC": "1000000000",
    "JANITOR_SCRUB_PASS_SECS": "0",
    "META_FLUSH_TIMEOUT_MS": "50",
}


@pytest.fixture
def stack(prepared: StackSettings) -> Iterator[Stack]:
    """Run Postgres, meta, a collector and the janitor."""
    restless = replace(prepared, inherited={**prepared.inherited, **RESTLESS})
    with Stack(restless, print, parts=(COLLECTOR, "janitor")) as running:
        yield running


def send(stack: Stack) -> None:
    request = ExportLogsServiceRequest()
    records = request.resource_logs.add().scope_logs.add().log_records
    records.add().time_unix_nano = time.time_ns()
    headers = {
        "content-type": "application/x-protobuf",
        "authorization": f"Bearer {stack.token}",
    }
    url = f"{stack.settings.otlp_http_url}/v1/logs"
    with urlopen(Request(url, request.SerializeToString(), headers), timeout=30) as reply:
        assert reply.status == 200


def fsck(stack: Stack, *options: str) -> Result:
    """Run the command as an operator does."""
    environment = {"SEGPLANE_META_ADDRESS": stack.settings.meta_address}
    return CliRunner().invoke(app, ["fsck", *options], env=environment)


def objects(stack: Stack, root: str) -> list[Path]:
    """Files of the stored objects below a root."""
    folder = stack.settings.data_dir / "objects" / root
    return sorted(path for path in folder.rglob("*") if path.is_file())


def await_damage(stack: Stack, client: MetaClient, count: int) -> None:
    wait_until(
        lambda: len(list(list_damaged(client))) == count,
        f"the janitor to know of {count} damaged objects",
        tick=stack.check,
    )


def flip(path: Path) -> None:
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(body)


def set_aside(path: Path) -> None:
    """Remove an object, or put it back."""
    away = path.parents[3] / f"{path.name}.away"
    if path.exists():
        path.rename(away)
    else:
        away.rename(path)


@pytest.mark.long
def test_damage_is_found_shown_and_healed(stack: Stack) -> None:
    with stack.connect() as client:
        for damage in (flip, set_aside):
            assert_baby_heals(stack, client, damage)
            assert_segment_heals(stack, client, damage)
    assert_clean(stack)


def assert_baby_heals(stack: Stack, client: MetaClient, damage: Damage) -> None:
    before = objects(stack, "ingest-stream")
    send(stack)
    (path,) = set(objects(stack, "ingest-stream")) - set(before)

    damage(path)
    await_damage(stack, client, 1)
    assert fsck(stack).exit_code == 1

    damage(path)
    await_damage(stack, client, 0)


def assert_segment_heals(stack: Stack, client: MetaClient, damage: Damage) -> None:
    """The baby's record is merged."""
    before = objects(stack, "dataset")
    nursery(client).cycle()
    (path,) = set(objects(stack, "dataset")) - set(before)

    damage(path)
    await_damage(stack, client, 1)
    found = fsck(stack, "--json")
    read = fsck(stack, "--data")

    assert found.exit_code == read.exit_code == 1
    (damaged,) = list_damaged(client)
    violations = json.loads(found.stdout)["violations"]
    assert {(v["invariant"], v["subject"]) for v in violations} == {("I9", damaged.segment_id)}
    assert f"segplane segments hide {damaged.segment_id} --accept-loss" in read.stdout
    damage(path)  # A sound copy is put back.
    await_damage(stack, client, 0)
    assert fsck(stack, "--data").exit_code == 0


def assert_clean(stack: Stack) -> None:
    done = fsck(stack, "--deep")
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "0 violations" in done.stdout
