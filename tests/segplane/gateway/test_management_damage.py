"""Streams, the quarantine and losses over HTTP, of records that could not be merged."""

import subprocess

from segments.keys import quarantine_key
from tests.support.documentation import blocks_of
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery

BROKEN = b"\x0a\x05ab"


def test_the_quarantine_is_listed_page_by_page(
    gateway: GatewayServer, meta_server: MetaServer
) -> None:
    collector = CollectorDriver(meta_server.client, dataset(meta_server.client))
    collector.commit(collector.put("good", payloads=(BROKEN, BROKEN)))
    nursery(meta_server.client).cycle()

    first = gateway.get("v1/quarantine?limit=1").json
    second = gateway.get(f"v1/quarantine?limit=1&after={first['next']}").json

    keys = [
        quarantine_key(collector.stream_id, 0, collector.token_id, "logs", index)
        for index in (1, 2)
    ]
    (item,) = first["items"]
    assert [page["items"][0]["key"] for page in (first, second)] == keys
    assert (item["offset"], item["signal"], item["is_counted"]) == (0, "logs", True)
    assert item["cause"].startswith("undecodable")
    assert item["dataset_id"] == collector.dataset_id
    assert len(gateway.get("v1/quarantine?cause=undecodable").json["items"]) == 2
    assert gateway.get("v1/quarantine?cause=no_route").json == {"items": [], "next": None}
    assert gateway.get("v1/quarantine?dataset=none").status == 404
    (stream,) = gateway.get("v1/streams").json["items"]
    assert (stream["stream_id"], stream["committed_offset"]) == (collector.stream_id, 0)


def test_a_parked_stream_is_skipped_with_a_consent(
    gateway: GatewayServer, meta_server: MetaServer
) -> None:
    collector = CollectorDriver(meta_server.client, dataset(meta_server.client))
    collector.commit(collector.put("lost"))
    skip = f"v1/streams/{collector.stream_id}/skip"
    consent = {"accept_loss": True, "actor": "op", "reason": "gone"}

    early = gateway.send("POST", skip, {"offset": 0, "acceptance": consent})
    nameless = gateway.send("POST", skip, {"offset": 0, "acceptance": {"accept_loss": True}})

    assert (early.status, early.json["error"]["reason"]) == (409, "NOTHING_TO_REPAIR")
    assert (nameless.status, nameless.json["error"]["reason"]) == (400, "INVALID_ARGUMENT")
    assert gateway.get("v1/losses").json["items"] == []


def test_the_examples_of_the_page_are_answered(gateway: GatewayServer) -> None:
    gateway.send("POST", "v1/datasets", {"name": "checkout"})
    pages = (*blocks_of("docs/management.md"), *blocks_of("docs/resources.md"))
    blocks = [block.text for block in pages if block.language == "bash"]
    text = "\n".join(blocks).replace("127.0.0.1:9580", f"127.0.0.1:{gateway.port}")

    done = subprocess.run(
        ["bash", "-ec", text.replace("curl -s", "curl -sSf")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert '"plaintext_token":"it_' in done.stdout
    assert '"context":{"cost":1.10}' in done.stdout
    assert len(blocks) >= 3
