"""Whose token is this: meta's answer, trusted for a few seconds.

A revocation holds within the time an answer is trusted. When meta cannot be asked and the answer
has run out, the export is refused as UNAVAILABLE: nothing is ever taken on an old answer.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from collector.ingestion import Ingestion, Token
from collector.refusal import Refusal, Refused, unavailable
from meta.errors import Code, InvalidArgument, MetaError, TokenUnknown

log = structlog.get_logger()

TOKENS_MAX = 10_000
TOKEN_CHARS_MAX = 256
UNKNOWN = Refused(Refusal(Code.UNAUTHENTICATED, "ingest token is missing, unknown or revoked"))


@dataclass(slots=True)
class _Answer:
    """What meta last said of one token. `token` is None for one that it does not know."""

    token: Token | None
    asked_at: float


@dataclass(slots=True)
class TokenCache:
    """Answers of meta by token secret; lives in memory only and never prints."""

    ingestion: Ingestion
    trust_secs: float
    clock: Callable[[], float] = time.monotonic
    _answers: OrderedDict[str, _Answer] = field(default_factory=OrderedDict, repr=False)
    _asking: dict[str, asyncio.Task[_Answer]] = field(default_factory=dict, repr=False)

    def peek(self, token_secret: str) -> Token | None:
        """The token if it is known to be valid now, without asking."""
        answer = self._fresh(token_secret)
        return answer.token if answer else None

    async def check(self, token_secret: str) -> Token:
        """Return the token behind a token_secret; raises Refused."""
        if not token_secret or len(token_secret) > TOKEN_CHARS_MAX or not token_secret.isascii():
            raise UNKNOWN
        answer = self._fresh(token_secret)
        if answer is None:
            answer = await asyncio.shield(self._ask(token_secret))
        elif answer.token and self.clock() - answer.asked_at > self.trust_secs / 2:
            # Asked again before it runs out, so that a busy token never waits for meta.
            self._ask(token_secret)
        if answer.token is None:
            raise UNKNOWN
        return answer.token

    def _fresh(self, token_secret: str) -> _Answer | None:
        answer = self._answers.get(token_secret)
        if answer is None or self.clock() - answer.asked_at >= self.trust_secs:
            return None
        return answer

    def _ask(self, token_secret: str) -> asyncio.Task[_Answer]:
        task = self._asking.get(token_secret)
        if task is None:
            task = asyncio.create_task(self._asked(token_secret))
            self._asking[token_secret] = task
            task.add_done_callback(lambda done: self._forget_asking(token_secret, done))
        return task

    def _forget_asking(self, token_secret: str, task: asyncio.Task[_Answer]) -> None:
        del self._asking[token_secret]
        if not task.cancelled():
            # Read here, since a refresh ahead of time has nobody waiting for it.
            task.exception()

    async def _asked(self, token_secret: str) -> _Answer:
        # The answer is as old as the question: a revocation may come while it travels.
        asked_at = self.clock()
        try:
            token: Token | None = await self.ingestion.validate(token_secret)
        except (TokenUnknown, InvalidArgument):
            token = None
        except MetaError as error:
            log.warning("token_check_failed", reason=error.reason, error=error.message)
            raise unavailable("ingest token cannot be checked now") from error
        answer = _Answer(token, asked_at)
        self._answers[token_secret] = answer
        self._answers.move_to_end(token_secret)
        while len(self._answers) > TOKENS_MAX:
            self._answers.popitem(last=False)
        return answer
