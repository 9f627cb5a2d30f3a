"""segplane fsck names acknowledged records that readers do not see, in every form."""

import json
from pathlib import Path

import pytest

from meta.v1 import operations_pb2 as pb
from segments.keys import baby_key
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery
from tests.support.visible_segments import find

FORMS = [(), ("--deep",), ("--data",), ("--repair",)]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: " ".join(form) or "plain")
def test_every_form_counts_what_readers_do_not_see(
    run: RunCommand, meta_server: MetaServer, form: tuple[str, ...]
) -> None:
    client = meta_server.client
    collector = CollectorDriver(client, dataset(client))
    damaged = collector.put("a", "b")
    path = Path("/", collector.store.location.path, baby_key(collector.stream_id, 0))
    path.chmod(0o644)
    body = bytearray(path.read_bytes())
    body[body.index(collector.dataset_id.encode())] ^= 3
    path.write_bytes(body)
    collector.commit(damaged)
    nursery(client).cycle()
    collector.send("hidden")
    nursery(client).cycle()
    (segment,) = find(client)
    run("segments", "hide", segment.id, "--accept-loss")
    other = CollectorDriver(client, dataset(client))
    other.send("in a stream that waits", "and waits")
    client.operations.ParkStream(
        pb.ParkStreamRequest(stream_id=other.stream_id, offset=0, reason="it is missing")
    )

    done, report = run("fsck", *form), json.loads(run("fsck", *form, "--json").stdout)

    assert done.exit_code == 0, done.stdout
    counted = {kind["reason"]: (kind["objects"], kind["records"]) for kind in report["withheld"]}
    assert counted == {"quarantined": (1, 2), "parked": (1, 0), "hidden": (1, 1)}
    assert "quarantined: 1 objects, 2 records: I1 is in question" in done.stdout
    assert "withheld from readers: 1 quarantined, 1 parked, 1 hidden" in done.stdout
    key = json.loads(run("quarantine", "list", "--json").stdout)[0]["key"]
    run("quarantine", "drop", key, "--accept-loss")
    assert "lost: 1 objects" in run("fsck", *form).stdout


def test_a_check_says_nothing_where_readers_see_everything(
    run: RunCommand, meta_server: MetaServer
) -> None:
    collector = CollectorDriver(meta_server.client, dataset(meta_server.client))
    collector.send("a")
    nursery(meta_server.client).cycle()

    assert "withheld" not in run("fsck").stdout
    assert json.loads(run("fsck", "--json").stdout)["withheld"] == []
