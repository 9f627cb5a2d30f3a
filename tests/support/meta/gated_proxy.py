"""A proxy before meta that holds chosen calls, so that a process pauses at an exact point."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc

DEADLINE_SECS = 30.0


@dataclass
class Gate:
    """Holds the calls of one method until it is opened."""

    method: str
    arrived: threading.Event = field(default_factory=threading.Event)
    _opened: threading.Event = field(default_factory=threading.Event)

    def wait_for_a_call(self) -> None:
        """Wait until a call is held."""
        assert self.arrived.wait(DEADLINE_SECS), f"no {self.method} call was held"

    def open(self) -> None:
        """Let held calls and all later ones through."""
        self._opened.set()

    def pass_through(self) -> None:
        """Block the calling handler while the gate is closed."""
        if not self._opened.is_set():
            self.arrived.set()
            self._opened.wait(DEADLINE_SECS)


class GatedProxy(grpc.GenericRpcHandler):
    """Forwards unary calls as bytes."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.address = ""
        self._channel = channel
        self._gates: dict[str, Gate] = {}
        self._lost: Counter[str] = Counter()

    def hold(self, method: str) -> Gate:
        """Hold the calls of a method from now on."""
        gate = Gate(method)
        self._gates[method] = gate
        return gate

    def lose(self, method: str, times: int) -> None:
        """Lose the next answers of a method, whose calls are made."""
        self._lost[method] = times

    def service(
        self, details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        """Forward one call to meta."""
        method = details.method
        send: Callable[..., bytes] = self._channel.unary_unary(method)

        def forward(request: bytes, context: grpc.ServicerContext) -> bytes:
            name = method.rsplit("/", 1)[-1]
            if gate := self._gates.get(name):
                gate.pass_through()
            if not context.is_active():
                context.abort(grpc.StatusCode.CANCELLED, "the caller is gone")
            try:
                reply = send(request, timeout=DEADLINE_SECS)
            except grpc.RpcError as error:
                # The reason of a refusal is in there.
                trailing = error.trailing_metadata() or ()
                context.set_trailing_metadata(tuple((one.key, one.value) for one in trailing))
                context.abort(error.code(), error.details() or "")
                raise AssertionError("abort raises") from None
            if self._lost[name]:
                self._lost[name] -= 1
                context.abort(grpc.StatusCode.UNAVAILABLE, "the answer is lost")
            return reply

        return grpc.unary_unary_rpc_method_handler(forward)


@contextmanager
def gated_proxy(meta_address: str) -> Iterator[GatedProxy]:
    """Run a proxy on a free port."""
    with grpc.insecure_channel(meta_address) as channel:
        server = grpc.server(ThreadPoolExecutor(16))
        proxy = GatedProxy(channel)
        server.add_generic_rpc_handlers((proxy,))
        proxy.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        try:
            yield proxy
        finally:
            server.stop(None)
