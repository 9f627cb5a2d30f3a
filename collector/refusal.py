"""Refusals of exports, as the gRPC and HTTP statuses that OTLP defines."""

from dataclasses import dataclass

from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from meta.errors import DOMAIN, Code

RETRY_AFTER_SECS = 1.0
TOKEN_LIMIT = "TOKEN_LIMIT"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reply to an export that was refused; with `retry_after_secs` it may be sent again.

    `reason` is one of `docs/contract.md`, if the code alone does not say enough.
    """

    code: Code
    message: str
    retry_after_secs: float | None = None
    reason: str = ""
    # The limit of its token that the export is over, for metrics.
    limit: str = ""

    @property
    def outcome(self) -> str:
        """Value of the `outcome` label of metrics."""
        return (self.reason or self.code.name).lower()

    def status(self) -> Status:
        """The google.rpc.Status that clients of both protocols read."""
        status = Status(code=self.code.value, message=self.message)
        if self.reason:
            status.details.add().Pack(ErrorInfo(reason=self.reason, domain=DOMAIN))
        if self.retry_after_secs is not None:
            delay = Duration()
            delay.FromNanoseconds(round(self.retry_after_secs * 1e9))
            status.details.add().Pack(RetryInfo(retry_delay=delay))
        return status


class Refused(Exception):
    """The export is refused."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def not_routed(signal: str) -> Refusal:
    """The token is valid, but routes this signal to no dataset."""
    return Refusal(Code.PERMISSION_DENIED, f"ingest token does not take {signal}")


def malformed(message: str) -> Refused:
    """The export is invalid; a retry cannot succeed."""
    return Refused(Refusal(Code.INVALID_ARGUMENT, message))


def too_large(limit_bytes: int) -> Refused:
    """The export, decompressed, is larger than this collector accepts."""
    text = f"export is larger than {limit_bytes} bytes decompressed; send smaller batches"
    return Refused(Refusal(Code.RESOURCE_EXHAUSTED, text))


def unavailable(message: str, retry_after_secs: float = RETRY_AFTER_SECS) -> Refused:
    """The export is valid; the sender should retry it."""
    return Refused(Refusal(Code.UNAVAILABLE, message, retry_after_secs))


def over_limit(limit: str, message: str, retry_after_secs: float = RETRY_AFTER_SECS) -> Refused:
    """The token is over one of its limits; the sender should retry later."""
    return Refused(Refusal(Code.RESOURCE_EXHAUSTED, message, retry_after_secs, TOKEN_LIMIT, limit))
