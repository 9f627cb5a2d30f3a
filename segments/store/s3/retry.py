"""Repeats requests of S3's protocol."""

from segments.store.retry import Failures, Tries
from segments.store.s3.errors import FAILURES, Failure, is_conflict, is_transient
from segments.store.timeouts import RequestTimeouts

_FAILURES: Failures[Failure] = Failures(FAILURES, is_transient, is_conflict)


def tries_of(timeouts: RequestTimeouts) -> Tries[Failure]:
    """Begin the tries of one request; they raise one of FAILURES."""
    return Tries(timeouts, _FAILURES)
