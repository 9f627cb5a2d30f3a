"""One OTLP export: its count, bounds and digest, its counters, and whether it came before.

The bytes that came are the bytes that are stored: nothing here serializes. Most repeats are
retries, whose first answer was lost. Some come from users who run an example twice and would look
for the second one in vain, so a warning is logged.
"""

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

import structlog
from blake3 import blake3
from google.protobuf.message import DecodeError

from collector.refusal import Refusal, Refused, malformed
from meta.errors import Code
from meta.metrics import EXPORT_BYTES, EXPORTS, RECORDS, THROTTLED_EXPORTS
from segments.export_digest import DIGEST_BYTES
from segments.otlp import content
from segments.otlp.content import PayloadFacts, TooManyParts
from segments.signals import TRAITS, Signal

log = structlog.get_logger()
DIGESTS_MAX = 1_000_000
JUDGED_OTHERWISE = (
    "an equal export was stored in part, because other records of it conformed to the schema and"
    " the window of then: send the records that were rejected by themselves"
)
# A sender whose answers are lost again and again must not fill the log.
LOG_PAUSE_SECS = 60.0


class TooManyRecords(Refused):
    """The export has more records than were asked for: `num_parts` or more."""

    def __init__(self, records_max: int, num_parts: int) -> None:
        self.num_parts = num_parts
        text = (
            f"export has more than {records_max} log records, spans or data points (counted with "
            "their metrics, scopes and resources); send smaller batches"
        )
        super().__init__(Refusal(Code.RESOURCE_EXHAUSTED, text))


def read_facts(signal: Signal, payload: bytes, records_max: int = sys.maxsize) -> PayloadFacts:
    """Parse an export request; raises Refused if the official classes refuse it.

    Raises TooManyRecords early if it has more records, metrics, scopes and resources in all than
    `records_max`: an empty one takes two bytes on the wire, and hundreds in a reader's memory.
    """
    try:
        return content.read_facts(signal, payload, records_max)
    except TooManyParts as error:
        raise TooManyRecords(records_max, error.num_parts) from None
    except DecodeError as error:
        raise malformed(f"payload is not an OTLP {signal} export request") from error


def require_signal(signal: Signal, payload: bytes, facts: PayloadFacts) -> None:
    """Raise Refused if an export is of another signal, so that nothing of it would be read."""
    row = TRAITS[signal]
    paths = ", ".join(other.http_path for other in TRAITS.values() if other is not row)
    if facts.foreign:
        raise malformed(
            f"{facts.foreign} has fields of other wire types than {row.records} have: the export is"
            f" not of {signal}, send it over HTTP to one of {paths} or to its own gRPC service"
        )
    if payload and not facts.num_parts:
        raise malformed(
            f"payload has none of the fields of an OTLP {signal} export request, expected"
            f" {row.json_name} (field 1)"
        )


def hint_of(facts: PayloadFacts) -> str:
    """Return a hint to a sender whose ids are hexadecimal letters; empty if they are not."""
    if not facts.hex_id:
        return ""
    return f"{facts.hex_id} is hexadecimal letters, expected 16 or 8 bytes; it is kept as it is"


def digest_of(token_id: str, signal: Signal, payload: bytes) -> bytes:
    """Digest that every resend of an export shares, and no other export."""
    # A collision would be a loss, so it is cryptographic; BLAKE3 takes a quarter of SHA-256's time.
    digest = blake3(f"{token_id}\0{signal}\0".encode())
    digest.update(payload)
    return digest.digest(DIGEST_BYTES)


def count_taken(signal: Signal, outcome: str, size_bytes: int) -> None:
    """Count an export that was answered without a refusal."""
    _exports(signal, outcome)()
    _export_bytes(signal)(size_bytes)


def count_records(signal: Signal, num_records: int) -> None:
    """Count the records of an export that was committed."""
    _records(signal)(num_records)


def count_refused(signal: Signal, refusal: Refusal) -> None:
    """Count an export that was not taken, wherever on its way it was refused."""
    _exports(signal, refusal.outcome)()
    if refusal.limit:
        THROTTLED_EXPORTS.labels(refusal.limit).inc()


@cache
def _exports(signal: Signal, outcome: str) -> Callable[[], None]:
    return EXPORTS.labels(signal, outcome).inc


@cache
def _export_bytes(signal: Signal) -> Callable[[float], None]:
    return EXPORT_BYTES.labels(signal).inc


@cache
def _records(signal: Signal) -> Callable[[float], None]:
    return RECORDS.labels(signal).inc


@dataclass(slots=True)
class CommittedDigests:
    """A set that forgets after `keep_secs`, or earlier beyond `DIGESTS_MAX`, the oldest first."""

    keep_secs: float
    clock: Callable[[], float] = time.monotonic
    # Insertion order is commit order, so the oldest are in front.
    _committed_at: dict[bytes, float] = field(default_factory=dict)
    # Rejections of exports that were stored in part, by the schemas in force at the time.
    _rejected: dict[bytes, bytes] = field(default_factory=dict)

    def __contains__(self, digest: bytes) -> bool:
        at = self._committed_at.get(digest[:DIGEST_BYTES])
        return at is not None and self.clock() - at < self.keep_secs

    def is_whole(self, digest: bytes) -> bool:
        """Return whether an equal export was stored of which nothing was found not to conform."""
        return digest in self and digest[:DIGEST_BYTES] not in self._rejected

    def judged_otherwise(self, digest: bytes) -> Refusal | None:
        """Return a refusal if an equal export was stored without other records than now."""
        rejected = self._rejected.get(digest[:DIGEST_BYTES], b"")
        if digest in self and rejected != digest[DIGEST_BYTES:]:
            return malformed(JUDGED_OTHERWISE).refusal
        return None

    def __len__(self) -> int:
        return len(self._committed_at)

    def add(self, digests: Iterable[bytes], age_secs: float = 0.0) -> None:
        """Remember exports committed `age_secs` ago."""
        now = self.clock()
        for digest in digests:
            key, rejected = digest[:DIGEST_BYTES], digest[DIGEST_BYTES:]
            self._committed_at.pop(key, None)
            self._committed_at[key] = now - age_secs
            if rejected:
                self._rejected[key] = rejected
        self._expire(now)

    def _expire(self, now: float) -> None:
        expired: list[bytes] = []
        surplus = len(self._committed_at) - DIGESTS_MAX
        for digest, at in self._committed_at.items():
            if now - at < self.keep_secs and len(expired) >= surplus:
                break
            expired.append(digest)
        for digest in expired:
            del self._committed_at[digest]
            self._rejected.pop(digest, None)


def warning(signal: Signal, num_records: int, keep_secs: float) -> str:
    """Return the warning that records count once, and how to send equal ones again."""
    return (
        f"the {num_records} {TRAITS[signal].records} of this export are stored already and count"
        f" once: an equal export came within the last {keep_secs:.0f} s; to store them again,"
        " change something in them, such as their times"
    )


@dataclass(slots=True)
class RepeatLog:
    """Logs repeats, at most one line a minute with their number since the last line."""

    clock: Callable[[], float] = time.monotonic
    _count: int = 0
    _logged_at: float = float("-inf")

    def add(self, signal: Signal, token_id: str) -> None:
        """Count one repeat; the line names the token of the latest."""
        self._count += 1
        if self.clock() - self._logged_at < LOG_PAUSE_SECS:
            return
        log.info("exports_repeated", count=self._count, signal=signal, token_id=token_id)
        self._count, self._logged_at = 0, self.clock()
