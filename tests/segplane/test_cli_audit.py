"""segplane audit against a real meta: filters, JSON lines, and following the log."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from meta.client import MetaClient
from meta.errors import InvalidArgument
from meta.store.access import audit, denied_calls
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from segplane.cli.audit_tail import MISSING_SECS, PAGE_LIMIT, AuditTail
from tests.support.clock import SettableClock
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until


@pytest.fixture
def client(meta_client: MetaClient) -> MetaClient:
    return meta_client


def lines(result: Result) -> list[dict[str, str]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_filters_choose_records_and_json_is_one_object_a_line(
    run: RunCommand, client: MetaClient
) -> None:
    request = catalog_pb2.CreateDatasetRequest(name="web")
    client.catalog.CreateDataset(request, metadata=(("x-request-id", "change-7"),))
    client.catalog.CreateView(catalog_pb2.CreateViewRequest(name="errors"))

    def rpcs(*options: str) -> list[str]:
        return [record["rpc"] for record in lines(run("audit", "list", "--json", *options))]

    assert rpcs() == ["CreateView", "CreateDataset"]
    assert rpcs("--request-id", "change-7") == ["CreateDataset"]
    assert rpcs("--rpc", "CreateView", "--principal", "anonymous") == ["CreateView"]
    assert rpcs("--host", "127.0.0.1", "--limit", "1") == ["CreateView"]
    assert (rpcs("--host", "192.0.2.1"), rpcs("--until", "1h"), rpcs("--request-id", "7")) == (
        [],
        [],
        [],
    )
    (view,) = lines(run("audit", "list", "--json", "--rpc", "CreateView"))
    assert rpcs("--since", view["at"]) == ["CreateView"]
    assert rpcs("--until", view["at"]) == ["CreateDataset"]
    assert run("audit", "list", "--since", "yesterday").stderr.startswith("error: --since:")


def test_denials_are_listed(run: RunCommand, meta_server: MetaServer) -> None:
    with meta_server.running.database.write() as tx:
        denied_calls.add(tx, {("192.0.2.7", "UNAUTHENTICATED"): 41, ("192.0.2.8", "X"): 1})

    (denied,) = lines(run("audit", "denials", "--json", "--reason", "UNAUTHENTICATED"))

    assert (denied["host"], denied["calls"]) == ("192.0.2.7", "41")
    assert len(lines(run("audit", "denials", "--json", "--since", "1h"))) == 2
    assert len(lines(run("audit", "denials", "--json", "--limit", "1"))) == 1
    assert "192.0.2.7" in run("audit", "denials", "--host", "192.0.2.7").stdout


def test_before_and_after_exclude_each_other(client: MetaClient) -> None:
    with pytest.raises(InvalidArgument, match="exclude each other"):
        _list(client, before_id=1, after_id=1)


def test_a_tail_prints_late_commits_once_and_gives_up_on_ids_that_never_come(
    meta_server: MetaServer, client: MetaClient
) -> None:
    clock = SettableClock()
    first = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="web"))
    tail = AuditTail(
        lambda after_id: _list(client, after_id=after_id, limit=PAGE_LIMIT), _list(client), clock
    )
    database = meta_server.running.database

    def polled() -> list[str]:
        return [record.subject_id for record in tail.poll()]

    with database.write() as slow:
        audit.note(slow, "call", "slow")
        with database.write() as quick:
            audit.note(quick, "call", "quick")
        assert polled() == ["quick"]
        assert polled() == []
    assert polled() == ["slow"]
    assert polled() == []
    with suppress(ZeroDivisionError), database.write() as undone:
        audit.note(undone, "call", "undone")
        raise ZeroDivisionError
    with database.write() as last:
        audit.note(last, "call", "last")
    assert polled() == ["last"]
    assert len(tail._missing) == 1
    clock.now += MISSING_SECS
    assert polled() == []
    assert not tail._missing
    assert first.id not in polled()


def test_audit_tail_follows_until_it_is_stopped(
    meta_server: MetaServer, client: MetaClient, tmp_path: Path
) -> None:
    client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="before"))
    with _tail(meta_server, tmp_path, "--rpc", "CreateDataset") as output:
        wait_until(lambda: len(_printed(output)) == 1, "the record before", seconds=60)
        client.catalog.CreateView(catalog_pb2.CreateViewRequest(name="errors"))
        client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="after"))
        wait_until(lambda: len(_printed(output)) == 2, "the record after", seconds=60)

        assert [record["detail"] for record in _printed(output)] == [
            "name 'before'",
            "name 'after'",
        ]


def _list(client: MetaClient, **fields: Any) -> list[pb.AuditRecord]:
    return list(client.operations.ListAuditRecords(pb.ListAuditRecordsRequest(**fields)).records)


def _printed(output: Path) -> list[dict[str, str]]:
    """The complete lines so far."""
    return [json.loads(line) for line in output.read_text().splitlines(True) if line[-1] == "\n"]


@contextmanager
def _tail(meta_server: MetaServer, folder: Path, *options: str) -> Iterator[Path]:
    output = folder / "tail"
    command = [
        sys.executable,
        "-m",
        "segplane",
        "audit",
        "list",
        "--follow",
        "--json",
        "--every",
        "0.1",
    ]
    env = os.environ | {"SEGPLANE_META_ADDRESS": meta_server.address}
    with output.open("w") as stdout:
        process = subprocess.Popen([*command, *options], env=env, stdout=stdout)
    try:
        yield output
    finally:
        process.kill()
        process.wait(60)
