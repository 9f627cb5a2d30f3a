"""Flushes of a session: stamps, refusals, new streams, and exports met again in others' babies."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from collector.auth import TokenCache
from collector.config import Settings, load
from collector.ingestion import Ingestion
from collector.intake.conversion import ConversionPool
from collector.intake.intake import Intake
from collector.intake.quotas import Quotas
from collector.intake.token_limits import IntakeLimits, TokenLimits
from collector.otlp.attribute_bounds import AttributeBounds
from collector.otlp.export import CommittedDigests, digest_of
from collector.refusal import Refused
from collector.streams.buffer import Buffer, MemoryBudget
from collector.streams.flusher import Flusher
from dataplane.baby_facts import CommitFacts
from meta.costs.accumulator import Work
from meta.errors import Code
from meta.process.environment import Environment
from meta.v1 import ingest_token_pb2
from segments.baby import Baby, BabyKind, Export, TokenPart, encode_baby
from segments.keys import baby_key
from tests.support.clock import SettableClock
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.seat import run
from tests.support.costs import charged
from tests.support.waiting import let_tasks_run


class MetaWithDeletedDatasets(Ingestion):
    """Meta where every stamped dataset was deleted a moment ago."""

    async def commit(self, stream_id: str, offset: int, facts: CommitFacts) -> frozenset[str]:
        await super().commit(stream_id, offset, facts)
        return frozenset(facts.dataset_records)


@pytest.fixture
def settings() -> Settings:
    """Settings of a collector that trusts meta's word for a tenth of a second."""
    return replace(load(Environment("COLLECTOR_", {})), token_cache_secs=0.1)


@asynccontextmanager
async def working(
    settings: Settings,
    ingestion: Ingestion,
    digests: CommittedDigests,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Intake]:
    """Run a session without its servers; `clock` is what tokens age by."""
    tokens = TokenCache(ingestion, settings.token_cache_secs, clock)
    buffer = Buffer(flush_timeout_secs=0.05)
    flusher = Flusher(settings, ingestion, tokens, buffer, digests)
    quotas = Quotas(ingestion, settings.usage_cache_secs)
    budget = MemoryBudget(10**8, 10**8)
    token_limits = TokenLimits(0, 100, 10**8)
    limits = IntakeLimits(10**7, 10**5, 10.0, 100, token_limits, AttributeBounds())
    pools = ConversionPool(1), ConversionPool(1)
    intake = Intake(tokens, quotas, budget, buffer, digests, *pools, limits, is_open=True)
    flushing = asyncio.create_task(flusher.run())
    try:
        yield intake
    finally:
        buffer.drain()
        await flushing
        flusher.close()
        await intake.close()
    assert budget.size_bytes == 0, "an export that was answered still has its memory"


async def turns_are_over() -> None:
    """Let exports that wait for nothing but their turn reach the buffer."""
    for _ in range(100):
        await let_tasks_run()


async def accept(intake: Intake, token_secret: str, payload: bytes) -> None:
    """Export as a protocol's handler does."""
    with await intake.admit("logs", token_secret, lambda: "a host") as admission:
        await intake.accept(admission, payload)


def test_an_export_whose_dataset_is_gone_is_refused_and_not_remembered(
    ground: Ground, settings: Settings
) -> None:
    token, digests = ground.new_token(), CommittedDigests(600.0)

    async def scenario() -> Code:
        ingestion = MetaWithDeletedDatasets(ground.client, "collector-1")
        async with working(settings, ingestion, digests) as intake:
            with pytest.raises(Refused) as caught:
                await accept(intake, token.token_secret, log_export("a"))
            return caught.value.refusal.code

    assert run(scenario()) is Code.PERMISSION_DENIED
    assert len(digests) == 0


def test_acknowledged_payloads_are_charged_to_their_dataset(
    ground: Ground, settings: Settings
) -> None:
    token, payloads = ground.new_token(), [log_export("a"), log_export("bc")]
    charged(Work.INGEST)

    async def scenario() -> None:
        ingestion = Ingestion(ground.client, "collector-1")
        async with working(settings, ingestion, CommittedDigests(600.0)) as intake:
            for payload in payloads:
                await accept(intake, token.token_secret, payload)

    run(scenario())

    (amounts,) = charged(Work.INGEST).values()
    assert amounts.bytes == sum(map(len, payloads))


def test_exports_beyond_the_number_under_way_are_to_be_sent_again(
    ground: Ground, settings: Settings
) -> None:
    token = ground.new_token()

    async def scenario() -> Code:
        ingestion = Ingestion(ground.client, "collector-1")
        async with working(settings, ingestion, CommittedDigests(600.0)) as intake:
            intake.limits = replace(intake.limits, concurrent_exports_max=1)
            with (
                await intake.admit("logs", token.token_secret, lambda: "a host"),
                pytest.raises(Refused) as caught,
            ):
                await accept(intake, token.token_secret, log_export("a"))
            await accept(intake, token.token_secret, log_export("b"))
            return caught.value.refusal.code

    assert run(scenario()) is Code.UNAVAILABLE
    assert ground.committed_ids() == ["b"]


def test_a_baby_is_stamped_with_the_routing_of_its_flush(
    ground: Ground, settings: Settings
) -> None:
    token, other = ground.new_token(), ground.new_token()

    async def scenario() -> None:
        ingestion = Ingestion(ground.client, "collector-1")
        clock = SettableClock()
        async with working(settings, ingestion, CommittedDigests(600.0), clock) as intake:
            await accept(intake, token.token_secret, log_export("before"))
            route(ground, token, other.dataset_id)
            clock.now += 1.0
            await accept(intake, token.token_secret, log_export("after"))

    run(scenario())
    stamps = [baby.parts[0].dataset_id for baby in ground.committed_babies()]
    assert stamps == [token.dataset_id, other.dataset_id]


def test_an_export_met_in_anothers_baby_is_acknowledged_and_not_written_again(
    ground: Ground, settings: Settings
) -> None:
    token = ground.new_token()
    stream_id, _ = ground.register("collector-1", token)
    digests = CommittedDigests(600.0)
    payload = log_export("sent to both incarnations")

    async def scenario() -> None:
        ingestion = Ingestion(ground.client, "collector-1")
        async with working(settings, ingestion, digests) as intake:
            await accept(intake, token.token_secret, log_export("first"))
            # The other incarnation writes at the next offset what is then resent to this one.
            baby = baby_with(token, payload)
            ground.store.put_if_absent(baby_key(stream_id, 1), encode_baby(baby))
            await accept(intake, token.token_secret, payload)

    run(scenario())
    assert ground.committed_ids() == ["first", "sent to both incarnations"]


def test_exports_of_many_tokens_share_a_baby_and_keep_their_order(
    ground: Ground, settings: Settings
) -> None:
    tokens = [ground.new_token() for _ in range(3)]

    async def scenario() -> None:
        ingestion = Ingestion(ground.client, "collector-1")
        async with working(settings, ingestion, CommittedDigests(600.0), SettableClock()) as intake:
            for token in tokens:
                await accept(intake, token.token_secret, log_export("warm"))
            intake.buffer.flush_timeout_secs = 3600.0
            accepting = [
                asyncio.create_task(accept(intake, token.token_secret, log_export(f"{n}-{index}")))
                for n in range(4)
                for index, token in enumerate(tokens)
            ]
            await turns_are_over()
            intake.buffer.drain()
            await asyncio.gather(*accepting)

    run(scenario())
    baby = ground.committed_babies()[-1]
    assert {part.token_id: part.dataset_id for part in baby.parts} == {
        token.token_id: token.dataset_id for token in tokens
    }
    assert [len(part.slices) for part in baby.parts] == [4, 4, 4]
    sent = [f"{n}-{i}" for n in range(4) for i in range(3)]
    assert ground.committed_ids() == sorted([*sent, "warm", "warm", "warm"])


def test_only_the_exports_of_a_revoked_token_are_refused(
    ground: Ground, settings: Settings
) -> None:
    good, bad = ground.new_token(), ground.new_token()

    async def scenario() -> list[object]:
        ingestion = Ingestion(ground.client, "collector-1")
        clock = SettableClock()
        async with working(settings, ingestion, CommittedDigests(600.0), clock) as intake:
            for token in (good, bad):
                await accept(intake, token.token_secret, log_export(f"warm {token.token_id}"))
            intake.buffer.flush_timeout_secs = 3600.0
            waiting = [
                asyncio.create_task(accept(intake, t.token_secret, log_export("last")))
                for t in (good, bad)
            ]
            await turns_are_over()
            ground.client.ingest_token.RevokeIngestToken(
                ingest_token_pb2.RevokeIngestTokenRequest(token_id=bad.token_id)
            )
            clock.now += 1.0
            intake.buffer.drain()
            return list(await asyncio.gather(*waiting, return_exceptions=True))

    accepted, refused = run(scenario())

    assert accepted is None
    assert isinstance(refused, Refused)
    assert refused.refusal.code is Code.UNAUTHENTICATED
    assert ground.committed_ids().count("last") == 1


def route(ground: Ground, token: GroundToken, dataset_id: str) -> None:
    """Send all signals of a token elsewhere."""
    ground.client.ingest_token.UpdateIngestTokenRouting(
        ingest_token_pb2.UpdateIngestTokenRoutingRequest(
            token_id=token.token_id,
            routing=ingest_token_pb2.IngestTokenRouting(
                logs_dataset_id=dataset_id,
                metrics_dataset_id=dataset_id,
                traces_dataset_id=dataset_id,
            ),
        )
    )


def baby_with(token: GroundToken, payload: bytes) -> Baby:
    digest = digest_of(token.token_id, "logs", payload)
    part = TokenPart(
        token.token_id, "logs", (payload,), token.dataset_id, 1, 5, 5, (Export(digest, 5),)
    )
    return Baby((part,), BabyKind.DATA, b"the other flush.", 5)
