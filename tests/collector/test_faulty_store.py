"""A collector over S3 behind a network that fails in every way: no record lost, none doubled."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import cycle

import grpc
import pytest

from segments.location import StoreLocation
from segments.store.open import open_store
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import StartCollector, Stub
from tests.support.object_store.faulty_proxy import (
    DroppedConnection,
    FaultyProxy,
    Forward,
    ProxyAnswer,
    Request,
)

RETRYABLE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


class Weather:
    """Breaks a third of what passes, by a seed: errors, lost answers, cut bodies."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self.is_on = False
        self.broken = 0

    def __call__(self, request: Request, forward: Forward) -> ProxyAnswer:
        with self._lock:
            draw = self._random.random() if self.is_on else 1.0
            self.broken += draw < 0.32
        if draw < 0.08:
            return ProxyAnswer(
                503, (("Retry-After", "0"),), b"<Error><Code>SlowDown</Code></Error>"
            )
        if draw < 0.14:
            raise DroppedConnection
        answer = forward(request)
        if draw < 0.24:
            raise DroppedConnection
        if draw < 0.28:
            return ProxyAnswer(500, (), b"<Error><Code>InternalError</Code></Error>")
        if draw < 0.32 and request.method == "GET":
            half = answer.body[: len(answer.body) // 2]
            return replace(answer, body=half, claimed_length=len(answer.body))
        return answer


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_export_is_committed_once_whatever_the_store_answers(
    ground: Ground,
    start_collector: StartCollector,
    s3_location: StoreLocation,
    proxy: FaultyProxy,
    seed: int,
) -> None:
    weather = Weather(seed)
    proxy.fault = weather
    over_proxy = replace(s3_location, endpoint=proxy.url)
    token = ground.new_token()
    collectors = [
        start_collector(COLLECTOR_OBJECT_STORE_URL=over_proxy.url(), COLLECTOR_ID=f"c{n % 2}")
        for n in range(3)  # Two of them are incarnations of one.
    ]
    weather.is_on = True
    payloads = {f"r{n}": log_export(f"r{n}") for n in range(60)}

    def send(stub: Stub, payload: bytes) -> None:
        while error := stub.start(token.token_secret, payload, timeout=30.0).exception():
            assert error.code() in RETRYABLE, error

    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(12))
        stubs = cycle([stack.enter_context(collector.stub()) for collector in collectors])
        list(pool.map(send, stubs, payloads.values()))

    assert weather.broken > 20
    stored = replace(ground, store=open_store(s3_location))
    assert stored.committed_ids() == sorted(payloads)
