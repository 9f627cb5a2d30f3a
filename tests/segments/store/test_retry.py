"""The repetitions of one request: until a deadline, and of what may change alone."""

import time

import pytest

from segments.errors import StoreError, StoreUnavailable
from segments.store.retry import Tries
from segments.store.timeouts import RequestTimeouts

BRIEF = RequestTimeouts(deadline_secs=0.05, wait_secs_min=0.002, wait_secs_max=0.004)


class Request:
    """A request that fails some times before it is answered."""

    def __init__(self, failures: int, kind: type[StoreError] = StoreUnavailable) -> None:
        self.tries = 0
        self._failures, self._kind = failures, kind

    def __call__(self) -> int:
        self.tries += 1
        if self.tries > 1_000:
            raise AssertionError("it is repeated without an end")
        if self.tries <= self._failures:
            raise self._kind("no answer")
        return self.tries


def test_a_request_that_is_never_answered_fails_by_its_deadline() -> None:
    request = Request(failures=10_000)
    began = time.monotonic()

    with pytest.raises(StoreError, match="no answer"):
        Tries(BRIEF).run(request)

    assert request.tries > 1
    assert time.monotonic() - began < 5.0


def test_a_request_is_repeated_until_it_is_answered() -> None:
    tries = Tries(RequestTimeouts(wait_secs_min=0.001, wait_secs_max=0.001))

    assert tries.run(Request(failures=3)) == 4
    assert tries.may_have_won


def test_a_failure_that_is_an_answer_is_not_repeated() -> None:
    request = Request(failures=2, kind=StoreError)

    with pytest.raises(StoreError, match="no answer"):
        Tries(BRIEF).run(request)

    assert request.tries == 1
