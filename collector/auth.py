"""TTL cache of token validations.

A revocation takes effect within the TTL: no export is stored on an expired validation. While no
meta answers, an export of a token that was valid waits in the buffer for the next validation, and
one of another token is refused as UNAVAILABLE. A host that shows many unknown tokens gets the same
answer without a call to meta; tokens that were valid when meta was last asked are always checked.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from collector.ingestion import Ingestion, ValidToken
from collector.refusal import Refusal, Refused, unavailable
from meta.errors import Code, InvalidArgument, MetaError, TokenUnknown
from meta.process.failed_attempts import FailedAttempts
from meta.telemetry import about

log = structlog.get_logger()

# A server has at most 100,000 tokens. Anybody can send unknown ones, so fewer of them are kept.
TOKENS_MAX, UNKNOWN_MAX = 100_000, 10_000
TOKEN_CHARS_MAX = 256
CHECK_LATER = "ingest token cannot be checked now"
UNKNOWN = Refused(
    Refusal(
        Code.UNAUTHENTICATED,
        "ingest token is missing, unknown or revoked, or its tenant is suspended",
    )
)


@dataclass(slots=True)
class _Validation:
    """Meta's latest answer for one token secret; `token` is None if the secret is unknown."""

    token: ValidToken | None
    asked_at: float


@dataclass(slots=True)
class TokenCache:
    """Validations by token secret. Secrets are kept in memory only and never printed."""

    ingestion: Ingestion
    trust_secs: float
    clock: Callable[[], float] = time.monotonic
    # Apart from each other, so that no flood of guesses displaces a valid token.
    _valid: OrderedDict[str, _Validation] = field(default_factory=OrderedDict, repr=False)
    _unknown: OrderedDict[str, _Validation] = field(default_factory=OrderedDict, repr=False)
    _attempts: FailedAttempts = field(init=False, repr=False)
    _refreshes: dict[str, asyncio.Task[_Validation]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._attempts = FailedAttempts(self.clock)

    def last_known(self, token_secret: str) -> ValidToken | None:
        """Return the token if it was valid when meta was last asked, however long ago."""
        validation = self._valid.get(token_secret)
        return validation.token if validation else None

    async def check(self, token_secret: str, host: Callable[[], str] | None = None) -> ValidToken:
        """Return the token behind a token_secret; raises Refused.

        `host` returns the host that shows it; None = no host, it was admitted before.
        """
        if not token_secret or len(token_secret) > TOKEN_CHARS_MAX or not token_secret.isascii():
            raise UNKNOWN
        validation = self._fresh(token_secret)
        if validation is None:
            validation = await self._ask(token_secret, host)
        elif validation.token and self.clock() - validation.asked_at > self.trust_secs / 2:
            # Refreshed before it expires, so that a busy token never waits for meta.
            self._refresh(token_secret)
        if validation.token is None:
            raise UNKNOWN
        return validation.token

    async def check_all(self, token_secrets: Sequence[str]) -> list[ValidToken | BaseException]:
        """Check tokens that were admitted before; returns Refused in place of each refused one."""
        return await asyncio.gather(*map(self.check, token_secrets), return_exceptions=True)

    def _fresh(self, token_secret: str) -> _Validation | None:
        validation = self._valid.get(token_secret) or self._unknown.get(token_secret)
        if validation is None or self.clock() - validation.asked_at >= self.trust_secs:
            return None
        return validation

    async def _ask(self, token_secret: str, host: Callable[[], str] | None) -> _Validation:
        is_known = token_secret in self._valid or token_secret in self._refreshes
        if host is None or is_known:
            return await asyncio.shield(self._refresh(token_secret))
        caller = host()
        if not self._attempts.may_try(caller):
            raise unavailable(CHECK_LATER)
        try:
            validation = await asyncio.shield(self._refresh(token_secret))
        except Refused:
            # Meta is unreachable, and that is not the fault of the caller.
            self._attempts.succeeded(caller)
            raise
        if validation.token is not None:
            self._attempts.succeeded(caller)
        return validation

    def _refresh(self, token_secret: str) -> asyncio.Task[_Validation]:
        task = self._refreshes.get(token_secret)
        if task is None:
            task = asyncio.create_task(self._validate(token_secret))
            self._refreshes[token_secret] = task
            task.add_done_callback(lambda done: self._forget_refresh(token_secret, done))
        return task

    def _forget_refresh(self, token_secret: str, task: asyncio.Task[_Validation]) -> None:
        del self._refreshes[token_secret]
        if not task.cancelled():
            # Retrieved here, since nothing awaits a refresh ahead of time.
            task.exception()

    async def _validate(self, token_secret: str) -> _Validation:
        # The TTL starts before the call: a revocation may commit while the reply travels.
        asked_at, last = self.clock(), self.last_known(token_secret)
        try:
            with about(last.dataset_ids.values() if last else ()):
                token: ValidToken | None = await self.ingestion.validate(token_secret)
        except (TokenUnknown, InvalidArgument):
            token = None
        except MetaError as error:
            log.warning("token_check_failed", reason=error.reason, error=error.message)
            raise unavailable(CHECK_LATER) from error
        validation = _Validation(token, asked_at)
        for validations in (self._valid, self._unknown):
            validations.pop(token_secret, None)
        validations = self._unknown if token is None else self._valid
        validations[token_secret] = validation
        if len(validations) > (TOKENS_MAX if token is not None else min(TOKENS_MAX, UNKNOWN_MAX)):
            validations.popitem(last=False)
        return validation
