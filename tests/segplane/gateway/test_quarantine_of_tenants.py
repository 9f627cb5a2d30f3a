"""The people of a tenant list, read, replay and discard its quarantined payloads, and no others."""

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dataplane.babies.payload import Payload
from meta.config import Settings
from meta.roles import Role
from meta.v1 import operations_pb2 as pb
from nursery.execution.quarantine import Quarantine
from segments.keys import quarantine_key, quarantine_whole_key
from segplane.__main__ import app
from segplane.gateway.management import quarantine_view
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.gateway.tenants import NAMES, SharedGateway, shared_gateway
from tests.support.meta.tenants import TenantDriver, new_token, operator_in
from tests.support.nursery.drivers import NOW, CollectorDriver, logs, nursery

BROKEN = b"\x0a\x05ab"


@dataclass
class Scene:
    """Payloads of two tenants on two streams, and a whole baby segment.

    Of each tenant are a broken one with a dataset, on its stream, and a sound one without a
    dataset, on the stream of the other.
    """

    shared: SharedGateway
    collectors: dict[str, CollectorDriver] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    stray: dict[str, str] = field(default_factory=dict)
    whole: str = ""

    def fill(self) -> None:
        admin = self.shared.tenants.guard.admin
        for name in NAMES:
            client, dataset = getattr(self.shared.tenants, name), self.shared.datasets[name]
            driver = CollectorDriver(admin, dataset, tenant_client=client)
            driver.commit(driver.put("good", payloads=(BROKEN,)))
            self.collectors[name] = driver
            self.broken[name] = quarantine_key(driver.stream_id, 0, driver.token_id, "logs", 1)
        nursery(admin).cycle()
        payments, search = (self.collectors[name] for name in NAMES)
        objects = Quarantine(payments.store)
        for name, stream, token in (("payments", search, payments), ("search", payments, search)):
            body, baby = logs(f"healed of {name}"), (stream.stream_id, 0, token.token_id)
            objects.put_payload(Payload(*baby, "logs", 7, body, NOW, len(body), False), "no_route")
            self.stray[name] = quarantine_key(*baby, "logs", 7)
        objects.put_baby(search.stream_id, 0, b"whole", ValueError("damaged"))
        self.whole = quarantine_whole_key(search.stream_id, 0)

    def keys(self, headers: Mapping[str, str], path: str = "v1/quarantine") -> list[str]:
        answer = self.shared.gateway.get(path, **headers)
        assert answer.status == 200, answer.body
        return [item["key"] for item in answer.json["items"]]

    def send(self, method: str, tenant: str, path: str, body: Any = "") -> Answer:
        headers = self.shared.headers(tenant)
        return self.shared.gateway.send(method, f"v1/{path}", body, **headers)

    def run(self, tenant: str, *arguments: str) -> Result:
        environment = {
            "SEGPLANE_META_ADDRESS": self.shared.tenants.guard.address,
            "SEGPLANE_META_AUTH_TOKEN": self.shared.tokens[tenant],
            "SEGPLANE_GATEWAY_ADDRESS": f"127.0.0.1:{self.shared.gateway.port}",
        }
        return CliRunner().invoke(app, ("quarantine", *arguments), env=environment)


@pytest.fixture
def scene(meta_settings: Settings, query_pool: SharedPool) -> Iterator[Scene]:
    with shared_gateway(meta_settings, query_pool) as shared:
        scene = Scene(shared)
        scene.fill()
        yield scene


@pytest.mark.long
def test_each_tenant_sees_its_payloads_and_operators_see_all(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard, shared = scene.shared.tenants.guard, scene.shared
    for name, other in (NAMES, NAMES[::-1]):
        headers, own = shared.headers(name), {scene.broken[name], scene.stray[name]}
        assert set(scene.keys(headers)) == own
        assert scene.keys(headers, "v1/quarantine?cause=no_route") == [scene.stray[name]]
        assert scene.keys(headers, "v1/quarantine?dataset=shop/web") == [scene.broken[name]]
        listed = shared.get(name, "v1/quarantine").body.decode()
        secrets = (shared.datasets[other], scene.collectors[other].token_id, scene.whole)
        assert not [text for text in secrets if text in listed]
        # Beside the list is the log of the server of this process.
        done = scene.run(name, "list")
        assert set(re.findall("quarantine/[^ ]+", done.stdout)) == own, done.stderr
        # A page that ends at another tenant's key has a position that nobody can read.
        with monkeypatch.context() as patch:
            patch.setattr(quarantine_view, "READ_MAX", 1)
            keys, path = list[str](), "v1/quarantine"
            while path:
                answer = shared.get(name, path)
                keys += [item["key"] for item in answer.json["items"]]
                following = answer.json["next"]
                assert not following or following in own or "quarantine" not in following
                path = f"v1/quarantine?after={following}" if following else ""
            assert set(keys) == own
        assert shared.get(name, "v1/quarantine?after=forged").status == 400
        with operator_in(guard, name) as operator:
            reader = new_token(operator, Role.TENANT_READER).plaintext_token
            sender = new_token(operator, Role.TENANT_INGEST).plaintext_token
        assert set(scene.keys({"Authorization": f"Bearer {reader}"})) == own
        refused = shared.gateway.get("v1/quarantine", Authorization=f"Bearer {sender}")
        assert refused.status == 403
    admin = {"Authorization": f"Bearer {guard.token(Role.ADMIN).plaintext_token}"}
    everything = {*scene.broken.values(), *scene.stray.values(), scene.whole}
    assert set(scene.keys(admin)) == everything
    named = admin | {"Segplane-Tenant": "payments"}
    assert set(scene.keys(named)) == {scene.broken["payments"], scene.stray["payments"]}
    # The payload of a dataset goes with it, whoever sent it.
    TenantDriver(guard.admin).move(shared.datasets["payments"], "search", new_name="moved")
    assert set(scene.keys(shared.headers("payments"))) == {scene.stray["payments"]}
    assert scene.broken["payments"] in scene.keys(shared.headers("search"))


@pytest.mark.long
def test_an_admin_replays_and_discards_its_payloads_alone(scene: Scene) -> None:
    guard, shared = scene.shared.tenants.guard, scene.shared
    never = quarantine_key(scene.collectors["search"].stream_id, 9, "t", "logs", 1)
    with operator_in(guard, "payments") as operator:
        reader = new_token(operator, Role.TENANT_READER).plaintext_token
    for key in (scene.broken["search"], scene.stray["search"], scene.whole):
        for method, suffix, body in (
            ("GET", "", ""),
            ("GET", "?content=true", ""),
            ("POST", "/replay", {"dataset": "shop/web", "as_is": True}),
            ("DELETE", "", {"accept_loss": True}),
        ):
            answer, missing = (
                scene.send(method, "payments", each + suffix, body) for each in (key, never)
            )
            assert (answer.status, missing.status) == (404, 404)
            assert answer.message.replace(key, never) == missing.message

    stray, broken = scene.stray["payments"], scene.broken["payments"]
    shown = scene.send("GET", "payments", f"{stray}?content=true").json
    assert base64.b64decode(shown["content"]) == logs("healed of payments")
    path, consent = f"v1/{stray}/replay", {"dataset": "shop/web", "reason": "routed again"}
    as_reader = shared.gateway.post(path, consent, Authorization=f"Bearer {reader}")
    assert as_reader.status == 403
    assert scene.send("POST", "payments", f"{stray}/replay", {}).status == 400
    replayed = scene.send("POST", "payments", f"{stray}/replay", consent)
    assert (replayed.status, replayed.json["segments"]) == (200, 1), replayed.body
    assert "healed of payments" in shared.bodies("payments")
    assert scene.send("POST", "payments", f"{stray}/replay", consent).status == 404
    assert scene.send("POST", "payments", f"{broken}/replay", {}).status == 409
    assert scene.send("DELETE", "payments", broken, {}).status == 400
    discarded = scene.run("payments", "drop", broken, "--accept-loss", "--reason", "broken")
    assert discarded.exit_code == 0, discarded.stderr
    assert scene.keys(shared.headers("payments")) == []
    done = scene.run("search", "replay", scene.stray["search"], "--dataset", "shop/web")
    assert done.exit_code == 0, done.stderr
    assert "healed of search" in shared.bodies("search")
    assert "healed of search" not in shared.bodies("payments")
    (loss,) = guard.admin.operations.ListLosses(pb.ListLossesRequest()).losses
    assert (loss.object_key, loss.reason) == (broken, "broken")
    actor = f"//{shared.tenant_ids['payments']}/ann by the gateway"
    assert loss.actor == actor
    audited = guard.admin.operations.ListAuditRecords(pb.ListAuditRecordsRequest(rpc="BeginReplay"))
    assert any(actor in record.detail for record in audited.records)


@pytest.mark.long
def test_a_gateway_without_a_token_for_it_changes_nothing(
    scene: Scene, query_pool: SharedPool
) -> None:
    token = scene.shared.tenants.guard.token(Role.GATEWAY).plaintext_token
    gateway = GatewayServer(
        scene.shared.tenants.guard.address,
        token,
        pool=query_pool,
        auth_token="gateway",
        meta_auth_token=token,
    )
    try:
        headers, key = scene.shared.headers("payments"), scene.stray["payments"]
        body = {"dataset": "shop/web"}
        answers = [
            gateway.send("POST", f"v1/{key}/replay", body, **headers),
            gateway.send("DELETE", f"v1/{key}", {"accept_loss": True}, **headers),
        ]
        assert [answer.status for answer in answers] == [403, 403]
        assert "GATEWAY_REPLAY_TOKEN" in answers[0].message
        assert gateway.get(f"v1/{key}", **headers).json["key"] == key
    finally:
        gateway.close()
