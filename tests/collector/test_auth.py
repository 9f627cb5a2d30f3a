"""The TTL of token validations, and exports while meta does not answer."""

import asyncio

import pytest

from collector import auth
from collector.auth import TokenCache
from collector.ingestion import Ingestion, ValidToken
from collector.refusal import Refused
from meta.client import MetaClient
from meta.errors import Code, MetaError, TokenUnknown, Unavailable
from segments.signals import TRAITS
from tests.support.clock import SettableClock
from tests.support.collector.seat import run
from tests.support.waiting import let_tasks_run, other_tasks_ended

TOKEN = ValidToken("id", dict.fromkeys(TRAITS, "d"))


class ScriptedMeta(Ingestion):
    """Meta's answers about tokens, in the order given; the last one repeats."""

    def __init__(self, *answers: ValidToken | MetaError) -> None:
        super().__init__(MetaClient("127.0.0.1:9"), "collector-1")
        self.answers = list(answers)
        self.questions = 0

    async def validate(self, token_secret: str) -> ValidToken:
        self.questions += 1
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        await let_tasks_run()
        if isinstance(answer, MetaError):
            raise answer
        return answer


def cache_of(meta: Ingestion) -> tuple[TokenCache, SettableClock]:
    clock = SettableClock()
    return TokenCache(meta, 3.0, clock), clock


def kept(cache: TokenCache, token_secret: str) -> ValidToken | None:
    """The token of a validation that is still trusted."""
    validation = cache._fresh(token_secret)
    return validation.token if validation else None


async def refusal_of(cache: TokenCache, token_secret: str = "it_x") -> Code:
    with pytest.raises(Refused) as caught:
        await cache.check(token_secret)
    return caught.value.refusal.code


def test_many_exports_of_one_token_ask_once() -> None:
    meta = ScriptedMeta(TOKEN)

    async def scenario() -> list[ValidToken]:
        cache, _ = cache_of(meta)
        found = list(await asyncio.gather(*(cache.check("it_x") for _ in range(50))))
        assert kept(cache, "it_x") is TOKEN
        return found

    assert run(scenario()) == [TOKEN] * 50
    assert meta.questions == 1


def test_a_busy_token_is_asked_about_before_its_answer_runs_out() -> None:
    meta = ScriptedMeta(TOKEN)

    async def scenario() -> None:
        cache, clock = cache_of(meta)
        await cache.check("it_x")
        clock.now += 2.0
        await cache.check("it_x")
        await other_tasks_ended()
        clock.now += 2.0

        assert kept(cache, "it_x") is TOKEN

    run(scenario())
    assert meta.questions == 2


def test_a_revocation_holds_once_the_answer_has_run_out() -> None:
    async def scenario() -> Code:
        cache, clock = cache_of(ScriptedMeta(TOKEN, TokenUnknown("revoked")))
        await cache.check("it_x")
        clock.now += 3.0
        assert kept(cache, "it_x") is None
        return await refusal_of(cache)

    assert run(scenario()) is Code.UNAUTHENTICATED


def test_an_unknown_token_is_asked_about_once_in_its_time() -> None:
    meta = ScriptedMeta(TokenUnknown("unknown"))

    async def scenario() -> None:
        cache, clock = cache_of(meta)
        for _ in range(5):
            assert await refusal_of(cache) is Code.UNAUTHENTICATED
        clock.now += 3.0
        await refusal_of(cache)

    run(scenario())
    assert meta.questions == 2


def test_without_meta_a_token_is_good_until_its_answer_runs_out_and_not_longer() -> None:
    async def scenario() -> tuple[ValidToken, Code, ValidToken]:
        cache, clock = cache_of(
            ScriptedMeta(TOKEN, Unavailable("away"), Unavailable("away"), TOKEN)
        )
        await cache.check("it_x")
        clock.now += 2.9
        known = await cache.check("it_x")
        await other_tasks_ended()
        clock.now += 0.2
        refused = await refusal_of(cache)
        return known, refused, await cache.check("it_x")

    assert run(scenario()) == (TOKEN, Code.UNAVAILABLE, TOKEN)


@pytest.mark.parametrize(
    "token_secret", ["", "x" * 257, "it_é"], ids=["empty", "long", "not ASCII"]
)
def test_what_cannot_be_a_token_is_refused_without_asking(token_secret: str) -> None:
    meta = ScriptedMeta(TOKEN)

    async def scenario() -> Code:
        return await refusal_of(cache_of(meta)[0], token_secret)

    assert run(scenario()) is Code.UNAUTHENTICATED
    assert meta.questions == 0


def test_answers_are_bounded_and_never_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "TOKENS_MAX", 3)

    async def scenario() -> TokenCache:
        cache, _ = cache_of(ScriptedMeta(TOKEN))
        for n in range(5):
            await cache.check(f"it_secret{n}")
        return cache

    cache = run(scenario())

    assert [kept(cache, f"it_secret{n}") is TOKEN for n in range(5)] == [False, False] + [True] * 3
    assert "secret" not in repr(cache)
