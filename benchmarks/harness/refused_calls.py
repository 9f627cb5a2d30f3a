"""Callers that are refused over and over, beside those that are measured."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import grpc


@contextmanager
def refused_calls(target: str, method: str, requests: Sequence[bytes]) -> Iterator[None]:
    """Send each request without a pause during the block; each must be refused every time."""
    ended = threading.Event()
    answered: list[bytes] = []
    with grpc.insecure_channel(target) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
        callers = [
            threading.Thread(target=_be_refused, args=(call, request, ended, answered))
            for request in requests
        ]
        for caller in callers:
            caller.start()
        try:
            yield
        finally:
            ended.set()
            for caller in callers:
                caller.join()
    assert not answered, "a call was not refused"


def _be_refused(
    call: "grpc.UnaryUnaryMultiCallable[bytes, bytes]",
    request: bytes,
    ended: threading.Event,
    answered: list[bytes],
) -> None:
    while not ended.is_set():
        try:
            answered.append(call(request))
        except grpc.RpcError:
            continue
        return
