"""Both generators of calls send what they are given, and count what was answered."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CalledProcessError

import grpc
import pytest

from benchmarks.harness.call_load import LOADGEN, CallLoad, CallRates, CallSecurity, run_loadgen
from benchmarks.harness.call_sender import send
from benchmarks.harness.certificate import self_signed

METHOD = "/segplane.test.Recorder/Record"
REFUSED = b"refuse this"
Run = Callable[[CallLoad], CallRates]


class Recorder(grpc.GenericRpcHandler):
    """Keeps the requests of every call; a reply is the request, b"" once `left` is used up."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        # The credentials that were sent.
        self.headers: list[str | bytes] = []
        self.left = 10**9

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> "grpc.RpcMethodHandler[bytes, bytes]":
        """The only handler; without serializers, so messages are bytes."""
        return grpc.unary_unary_rpc_method_handler(self._record)

    def _record(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        if request == REFUSED:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "as it was asked")
        self.requests.append(request)
        sent = dict(context.invocation_metadata())
        self.headers += [sent["authorization"]] if "authorization" in sent else []
        self.left -= 1
        return request if self.left >= 0 else b""


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def target(recorder: Recorder) -> Iterator[str]:
    # One thread: the recorder needs no lock.
    server = grpc.server(ThreadPoolExecutor(1), handlers=[recorder])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(0).wait()


@pytest.fixture(params=["go", "python"])
def run(request: pytest.FixtureRequest) -> Run:
    if request.param == "python":
        return lambda load: asyncio.run(send(load))
    if not LOADGEN.exists():
        pytest.skip("make loadgen builds the generator")
    return run_loadgen


def test_requests_are_sent_once_in_the_order_of_their_caller(
    run: Run, target: str, recorder: Recorder
) -> None:
    callers = [[b"%d of %d" % (n, caller) for n in range(5)] for caller in range(3)]

    rates = run(CallLoad(target, METHOD, callers))

    assert rates.calls == 15
    assert 0 < rates.p50_ms <= rates.p99_ms <= 1e3 * rates.seconds
    for own in callers:
        assert [sent for sent in recorder.requests if sent in own] == own
    assert sorted(rates.replies) == [own[-1] for own in callers]


def test_requests_are_sent_over_and_over_until_the_time_is_up(
    run: Run, target: str, recorder: Recorder
) -> None:
    rates = run(CallLoad(target, METHOD, [[b"a", b"b"], [b"c"]], seconds=0.2))

    assert rates.seconds >= 0.2
    assert rates.calls == len(recorder.requests) > 4
    of_first = [sent for sent in recorder.requests if sent != b"c"]
    assert of_first == [(b"a", b"b")[n % 2] for n in range(len(of_first))]


def test_a_request_is_sent_until_a_reply_is_empty(
    run: Run, target: str, recorder: Recorder
) -> None:
    recorder.left = 20

    rates = run(CallLoad(target, METHOD, [[b"x"]] * 4, until_empty=True))

    assert rates.replies == [b"x"] * 20
    assert rates.calls == 24


def test_a_refused_call_is_an_error(run: Run, target: str) -> None:
    with pytest.raises((CalledProcessError, grpc.RpcError)):
        run(CallLoad(target, METHOD, [[b"a", REFUSED]]))


def test_a_call_of_a_load_that_may_be_refused_has_an_empty_reply(
    run: Run, target: str, recorder: Recorder
) -> None:
    rates = run(CallLoad(target, METHOD, [[REFUSED, b"a"], [REFUSED]], may_be_refused=True))

    assert rates.calls == 3
    assert sorted(rates.replies) == [b"", b"a"]
    assert recorder.requests == [b"a"]


def test_calls_go_over_tls_with_a_token(run: Run, tmp_path: Path, recorder: Recorder) -> None:
    made = self_signed(tmp_path)
    credentials = grpc.ssl_server_credentials(
        [(made.key.read_bytes(), made.certificate.read_bytes())]
    )
    server = grpc.server(ThreadPoolExecutor(1), handlers=[recorder])
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    try:
        security = CallSecurity(str(made.certificate), ["the token", "another"])
        run(CallLoad(f"127.0.0.1:{port}", METHOD, [[b"a"], [b"b"]], security=security))
    finally:
        server.stop(0).wait()

    assert set(zip(recorder.requests, recorder.headers, strict=True)) == {
        (b"a", "Bearer the token"),
        (b"b", "Bearer another"),
    }
