"""Hosts that guess ingest tokens: what they cost meta, and that nobody else notices."""

import http.client
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import grpc
import psycopg
import pytest

from collector.auth import TokenCache
from collector.ingestion import Ingestion, ValidToken
from collector.refusal import Refusal, Refused
from meta.client import MetaClient
from meta.errors import Code, TokenUnknown, Unavailable
from meta.process.failed_attempts import HOST_BURST, TOTAL_BURST
from meta.store.access import token_secrets
from meta.v1 import ingest_token_pb2
from segments.signals import TRAITS
from tests.support.clock import SettableClock
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.http import PROTOBUF
from tests.support.collector.process import CollectorProcess, StartCollector
from tests.support.collector.seat import run
from tests.support.waiting import let_tasks_run

TOKEN = ValidToken("id", dict.fromkeys(TRAITS, "d"))
UNCHECKED = "ingest token cannot be checked now"


class CountedMeta(Ingestion):
    """Answers as meta does for the tokens that it knows, and counts the calls."""

    def __init__(self, *known: str) -> None:
        super().__init__(MetaClient("127.0.0.1:9"), "collector-1")
        self.known = set(known)
        self.calls = 0
        self.is_away = False

    async def validate(self, token_secret: str) -> ValidToken:
        self.calls += 1
        await let_tasks_run()
        if self.is_away:
            raise Unavailable("away")
        if token_secret not in self.known:
            raise TokenUnknown("unknown")
        return TOKEN


class Guesses:
    """A cache whose callers show tokens; returns a refusal, or None for a valid token."""

    def __init__(self, meta: CountedMeta) -> None:
        self.meta = meta
        self.clock = SettableClock()
        self.cache = TokenCache(meta, 3.0, self.clock)
        self._names = (f"it_guess{n}" for n in count())

    async def show(self, token_secret: str, host: str) -> Refusal | None:
        try:
            await self.cache.check(token_secret, lambda: host)
        except Refused as refused:
            return refused.refusal
        return None

    async def guess(self, host: str, times: int) -> list[Code]:
        refusals = [await self.show(next(self._names), host) for _ in range(times)]
        return [refusal.code for refusal in refusals if refusal is not None]


def test_a_host_that_guesses_costs_few_calls_and_others_none() -> None:
    async def scenario() -> None:
        here = Guesses(CountedMeta("it_known", "it_new"))
        assert await here.show("it_known", "10.0.0.1") is None

        codes = await here.guess("10.0.0.1", 500)

        burst = int(HOST_BURST)
        assert codes == [Code.UNAUTHENTICATED] * burst + [Code.UNAVAILABLE] * (500 - burst)
        assert here.meta.calls == 1 + burst
        # A token that was valid is checked however much its host guesses.
        here.clock.now += 3.0
        await here.guess("10.0.0.1", 100)
        calls = here.meta.calls
        assert await here.show("it_known", "10.0.0.1") is None
        assert here.meta.calls == calls + 1
        assert await here.show("it_new", "10.0.0.2") is None

    run(scenario())


def test_hosts_that_guess_together_leave_room_for_a_new_caller() -> None:
    async def scenario() -> None:
        here = Guesses(CountedMeta("it_new"))
        for number in range(100):
            await here.guess(f"10.0.1.{number}", 10)

        assert here.meta.calls <= 2 * TOTAL_BURST
        refused = await here.show("it_new", "10.0.1.1")
        assert refused is not None
        assert (refused.code, refused.message) == (Code.UNAVAILABLE, UNCHECKED)
        here.clock.now += 1.0
        assert await here.show("it_new", "10.9.9.9") is None

    run(scenario())


def test_valid_tokens_of_one_host_are_all_taken_however_many() -> None:
    async def scenario() -> None:
        names = [f"it_{n}" for n in range(300)]
        here = Guesses(CountedMeta(*names))
        assert {await here.show(name, "10.0.0.1") for name in names} == {None}
        here.meta.is_away = True
        for _ in range(100):
            refused = await here.show("it_later", "10.0.0.1")
            assert refused is not None
            assert refused.message == UNCHECKED
        here.meta.is_away = False
        here.meta.known.add("it_later")
        assert await here.show("it_later", "10.0.0.1") is None

    run(scenario())


def test_a_revoked_token_counts_as_a_guess() -> None:
    async def scenario() -> None:
        here = Guesses(CountedMeta("it_known"))
        assert await here.show("it_known", "10.0.0.1") is None
        here.meta.known.clear()
        here.clock.now += 3.0
        await here.guess("10.0.0.1", int(HOST_BURST))
        revoked = await here.show("it_known", "10.0.0.1")
        assert revoked is not None
        assert revoked.code is Code.UNAUTHENTICATED
        here.clock.now += 3.0
        await here.guess("10.0.0.1", int(HOST_BURST))
        revoked = await here.show("it_known", "10.0.0.1")
        assert revoked is not None
        assert revoked.message == UNCHECKED

    run(scenario())


def test_guesses_do_not_displace_valid_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collector.auth.TOKENS_MAX", 3)

    async def scenario() -> None:
        here = Guesses(CountedMeta("it_known"))
        assert await here.show("it_known", "10.0.0.1") is None
        await here.guess("10.0.0.2", 10)
        assert here.cache.last_known("it_known") is TOKEN

    run(scenario())


def _post(collector: CollectorProcess, token_secret: str, source: str) -> tuple[int, bytes]:
    """Export over HTTP from an address of this machine."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", collector.http_port, timeout=20, source_address=(source, 0)
    )
    headers = {"Content-Type": PROTOBUF, "Authorization": f"Bearer {token_secret}"}
    try:
        connection.request("POST", "/v1/logs", log_export(source), headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _revoked(ground: Ground) -> GroundToken:
    token = ground.new_token()
    ground.client.ingest_token.RevokeIngestToken(
        ingest_token_pb2.RevokeIngestTokenRequest(token_id=token.token_id)
    )
    return token


def test_the_collector_refuses_unknown_and_revoked_tokens_alike(
    ground: Ground, start_collector: StartCollector
) -> None:
    """Ingest tokens do not expire. Each costs one call to meta, whose answer is the same."""
    collector, answers = start_collector(), set()
    with collector.stub() as stub:
        for secret in ("it_x", token_secrets.new_plaintext(), _revoked(ground).token_secret):
            with pytest.raises(grpc.RpcError) as refused:
                stub.export(secret, log_export("x"))
            error: Any = refused.value
            keys = tuple(sorted(key for key, _ in error.trailing_metadata() or ()))
            over_http = _post(collector, secret, "127.0.0.9")
            answers.add((error.code(), error.details(), keys, over_http))

    assert len(answers) == 1
    assert answers.pop()[0] is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.long
def test_a_flood_of_guesses_slows_no_sender_and_all_are_refused_alike(
    ground: Ground, start_collector: StartCollector, database_url: str
) -> None:
    token, revoked = ground.new_token(), _revoked(ground)
    collector = start_collector()
    collector.export(token, log_export("warm"))
    answers = {_post(collector, secret, "127.0.0.9") for secret in ("it_x", revoked.token_secret)}
    assert [status for status, _ in answers] == [401]

    def guess_over_http(number: int) -> int:
        return _post(collector, f"it_h{number}", "127.0.0.2")[0]

    with collector.stub() as stub, ThreadPoolExecutor(4) as pool:
        http_answers = pool.map(guess_over_http, range(200))
        calls = [stub.start(f"it_g{n}", log_export("x")) for n in range(200)]
        for number in range(20):
            stub.export(token.token_secret, log_export(f"good {number}"))
            assert _post(collector, token.token_secret, "127.0.0.2")[0] == 200
        codes = {call.exception().code() for call in calls}
        statuses = list(http_answers)
        # A new token of a host that has not guessed is taken at once.
        assert _post(collector, ground.new_token().token_secret, "127.0.0.3")[0] == 200

    assert codes == {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNAVAILABLE}
    assert set(statuses) == {401, 503}
    assert statuses.count(401) < 2 * HOST_BURST + 5 * 20
    with psycopg.connect(database_url) as connection:
        (records,) = connection.execute("SELECT sum(num_records) FROM baby_segments").fetchone()  # type: ignore[misc]
    assert records >= 22
