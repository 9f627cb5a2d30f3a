"""Callers of queries: each has the rights of its own token."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from meta import metrics
from meta.config import Settings
from meta.process.failed_attempts import HOST_BURST
from meta.roles import Role
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, ended_access_tokens, guarded
from tests.support.meta.server import MetaServer

OWN = {"Authorization": "Bearer of-the-gateway"}


@pytest.fixture
def guard(meta_settings: Settings, tmp_path: Path) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as guard:
        Path(urlsplit(meta_settings.location.url()).path).mkdir(parents=True, exist_ok=True)
        catalog = CatalogDriver(guard.admin)
        for number, name in enumerate(("mine", "other"), 1):
            SegmentWriter(guard.admin, catalog.dataset(name), tmp_path).write(rows=number)
        yield guard


@pytest.fixture
def gateway(guard: GuardedServer, query_pool: SharedPool) -> Iterator[GatewayServer]:
    token = guard.token(Role.GATEWAY).plaintext_token
    server = GatewayServer(
        guard.address,
        token,
        pool=query_pool,
        meta_auth_token=token,
        auth_token="of-the-gateway",
    )
    yield server
    server.close()


def shown_by(guard: GuardedServer, role: Role, *datasets: str) -> dict[str, str]:
    """Return the header of a new token's holder."""
    token = guard.token(role, f"{role} {datasets}", dataset_names=datasets).plaintext_token
    return {"Authorization": f"Bearer {token}"}


def test_a_caller_sees_what_its_token_may_see(guard: GuardedServer, gateway: GatewayServer) -> None:
    every, limited = shown_by(guard, Role.READER), shown_by(guard, Role.READER, "mine")
    counts = {
        (name, text): gateway.query(text, headers=headers)
        for name, headers in (("own", OWN), ("every", every), ("limited", limited))
        for text in ("mine | count", "other | count", "othr | count", "SELECT count(*) FROM other")
    }

    for name in ("own", "every", "limited"):
        assert counts[name, "mine | count"].json == [{"Count": 1}]
    for name in ("own", "every"):
        assert counts[name, "other | count"].json == [{"Count": 2}]
        assert "did you mean 'other'" in counts[name, "othr | count"].message
    for text in ("other | count", "SELECT count(*) FROM other"):
        assert counts["limited", text].status == 400
        assert "there is no dataset or view 'other'" in counts["limited", text].message
    assert "'other'" not in counts["limited", "othr | count"].message


def test_a_query_within_an_expression_reads_what_its_caller_may_see(
    guard: GuardedServer, gateway: GatewayServer
) -> None:
    limited = shown_by(guard, Role.READER, "mine")
    texts = (
        "mine | where signal in (other | project signal) | count",
        "mine | extend n = toscalar(other | count) | where n == 2 | count",
        "let t = other | project signal; mine | where signal in (t) | count",
        "let f = () { other | project signal }; mine | where signal in (f()) | count",
        "let f = (T:(*)) { T | count }; f(other) | where Count == 2 | count",
    )

    for text in texts:
        assert gateway.query(text, headers=OWN).json == [{"Count": 1}], text
        refused = gateway.query(text, headers=limited)
        assert refused.status == 400
        assert "there is no dataset or view 'other'" in refused.message


def test_a_caller_without_a_valid_token_is_refused(gateway: GatewayServer) -> None:
    refused = ("", "Bearer", "Bearer ", "Basic b3RoZXI6", "Bearer segp_unknown", "Bearer \xe9")
    for header in refused:
        headers = {"Authorization": header} if header else {}
        answer = gateway.query("mine | count", headers=headers)

        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer"), header


def test_the_gateway_refuses_unknown_revoked_and_expired_tokens_alike(
    guard: GuardedServer, gateway: GatewayServer, database_url: str
) -> None:
    answers, calls = [], []
    for plaintext in ended_access_tokens(guard, database_url).values():
        before = _calls_of_meta()
        headers = {"Authorization": f"Bearer {plaintext}"}
        answer = gateway.query("mine | count", headers=headers)
        calls.append(_calls_of_meta() - before)
        names = {name.lower(): value for name, value in answer.headers.items()} | {"date": ""}
        answers.append((answer.status, answer.body, names))

    assert answers[0][0] == 401
    assert answers[0] == answers[1] == answers[2]
    assert calls[0] == calls[1] == calls[2]
    assert calls[0].total() == 1


def _calls_of_meta() -> Counter[tuple[str, str]]:
    """Calls that were refused by the meta of this process, by name and code."""
    return Counter(
        {
            (sample.labels["rpc"], sample.labels["code"]): int(sample.value)
            for metric in metrics.RPC_SECONDS.collect()
            for sample in metric.samples
            if sample.name.endswith("_count") and sample.labels["code"] != "OK"
        }
    )


def test_a_host_that_guesses_is_throttled_on_all_routes_together(
    guard: GuardedServer, gateway: GatewayServer
) -> None:
    valid = shown_by(guard, Role.READER)
    assert gateway.get("v1/datasets", **valid).status == 200
    asks: list[Callable[..., Answer]] = [
        lambda headers: gateway.query("print x = 1", headers=headers),
        lambda headers: gateway.get("v1/datasets", **headers),
        lambda headers: gateway.get("v1/views", **headers),
        lambda headers: gateway.post("v2/rest/query", {"csl": "print x = 1"}, **headers),
        lambda headers: gateway.ask("v1/config", **headers),
    ]
    before = _calls_of_meta().total()

    answers = [
        ask({"Authorization": f"Bearer segp_guess{number}"})
        for number, ask in enumerate(asks * int(HOST_BURST))
    ]

    statuses = Counter(answer.status for answer in answers)
    assert statuses.keys() == {401, 503}
    assert statuses[401] < 2 * HOST_BURST
    assert _calls_of_meta().total() - before <= statuses[401]
    throttled = [one for one in answers if one.status == 503]
    assert all("try again" in one.body.decode() for one in throttled)
    for headers in (valid, OWN):
        assert gateway.get("v1/datasets", **headers).status == 200


def test_a_meta_that_asks_for_no_token_opens_no_guarded_gateway(
    meta_server: MetaServer, query_pool: SharedPool
) -> None:
    server = GatewayServer(meta_server.address, pool=query_pool, auth_token="of-the-gateway")
    try:
        own = server.query("print x = 1", headers=OWN)
        for token in ("other", "segp_unknown", "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"):
            answer = server.query("print x = 1", headers={"Authorization": f"Bearer {token}"})
            assert (answer.status, token in answer.message) == (401, False), answer.body
    finally:
        server.close()
    assert own.json == [{"x": 1}]


def test_a_role_that_may_not_read_is_refused(guard: GuardedServer, gateway: GatewayServer) -> None:
    answer = gateway.query("mine | count", headers=shown_by(guard, Role.INGEST))

    assert (answer.status, answer.json["error"]["type"]) == (403, "Forbidden")
