"""Whatever a client sends is answered by a typed refusal: never INTERNAL, UNKNOWN or a crash."""

import random
from collections import Counter
from dataclasses import replace

import grpc
import pytest
from google.protobuf.message import Message

from meta.config import Settings
from meta.server.server import MESSAGE_BYTES_MAX
from tests.support.meta.fuzzing import FORBIDDEN, Fuzzer, call, reason_of, valid_requests
from tests.support.meta.methods import METHODS
from tests.support.meta.server import MetaServer


def hammer(meta_server: MetaServer, seed: int, count: int) -> Counter[tuple[str, str]]:
    """Send `count` requests round the methods; answers how often each method said what."""
    fuzzer = Fuzzer(random.Random(seed), valid_requests(meta_server.client))
    heard: Counter[tuple[str, str]] = Counter()
    with grpc.insecure_channel(meta_server.address) as channel:
        for number in range(count):
            method = METHODS[number % len(METHODS)]
            raw = fuzzer.request(method)
            answer = call(channel, method, raw)
            if isinstance(answer, Message):
                fuzzer.harvest(answer)
                heard[method.name, "OK"] += 1
                continue
            code = answer.code()
            context = f"seed {seed}, request {number}, {method.name}({raw[:200]!r}): {answer}"
            assert code not in FORBIDDEN, context
            # gRPC refuses a longer message by itself, before it is read.
            assert reason_of(answer) or len(raw) > MESSAGE_BYTES_MAX, context
            heard[method.name, code.name] += 1
    return heard


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_all_rpcs_refuse_malformed_requests_with_a_reason(
    meta_server: MetaServer, seed: int
) -> None:
    assert len(METHODS) == 55 + 65 + 3 + 6 + 3 + 3 + 2 + 9 + 10 + 3 + 3

    heard = hammer(meta_server, seed, 4 * len(METHODS))

    assert {name for name, _ in heard} == {method.name for method in METHODS}
    meta_server.running.database.ping()


@pytest.mark.long
def test_no_call_needs_a_deadline(meta_server: MetaServer) -> None:
    """As grpcurl and clients of other makes call."""
    sent = valid_requests(meta_server.client)
    with grpc.insecure_channel(meta_server.address) as channel:
        for method in METHODS:
            if method.server_streaming:
                continue  # They end with the caller.
            for request in (b"", *(m.SerializeToString() for m in sent.get(method.name, ())[:1])):
                answer = call(channel, method, request, timeout=None)

                if isinstance(answer, grpc.RpcError):
                    assert answer.code() not in FORBIDDEN, f"{method.name}: {answer}"


@pytest.mark.slow
def test_ten_thousand_malformed_requests(meta_server: MetaServer) -> None:
    heard = hammer(meta_server, 99, 10_000)

    assert sum(heard.values()) == 10_000
    # Otherwise the requests would test nothing but the first check.
    assert sum(count for (_, code), count in heard.items() if code == "OK") > 500
