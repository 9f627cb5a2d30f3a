"""Faults of one request and its answer between the store and a server."""

from collections.abc import Callable
from dataclasses import replace

from tests.support.object_store.faulty_proxy import (
    DroppedConnection,
    Fault,
    FaultyProxy,
    Forward,
    Held,
    ProxyAnswer,
    Request,
)

Matches = Callable[[Request], bool]


def slow_down(request: Request, forward: Forward) -> ProxyAnswer:
    """Refuse for now."""
    return ProxyAnswer(503, body=_error("SlowDown", request))


def internal_error(request: Request, forward: Forward) -> ProxyAnswer:
    """Fail."""
    return ProxyAnswer(500, body=_error("InternalError", request))


def silence(request: Request, forward: Forward) -> ProxyAnswer:
    """Never answer, and do nothing."""
    raise Held


def late_silence(request: Request, forward: Forward) -> ProxyAnswer:
    """Do it, and never answer."""
    forward(request)
    raise Held


def drop(request: Request, forward: Forward) -> ProxyAnswer:
    """Close the connection, and do nothing."""
    raise DroppedConnection


def lose_answer(request: Request, forward: Forward) -> ProxyAnswer:
    """Do it, and close the connection."""
    forward(request)
    raise DroppedConnection


def fail_after(request: Request, forward: Forward) -> ProxyAnswer:
    """Do it, and say that it failed."""
    forward(request)
    return ProxyAnswer(500, body=_error("InternalError", request))


def reset_answer(request: Request, forward: Forward) -> ProxyAnswer:
    """Do it, and reset the connection in the middle of the answer's body."""
    answer = truncate(request, forward)
    return replace(answer, is_reset=True)


def truncate(request: Request, forward: Forward) -> ProxyAnswer:
    """Do it, and end the answer's body half-way."""
    answer = forward(request)
    half = answer.body[: len(answer.body) // 2]
    return replace(answer, body=half, claimed_length=len(answer.body))


def shorten(request: Request, forward: Forward) -> ProxyAnswer:
    """Do it, and pass half of the answer's body off as all of it."""
    answer = forward(request)
    return replace(answer, body=answer.body[: len(answer.body) // 2])


def corrupt(request: Request, forward: Forward) -> ProxyAnswer:
    """Do it, and change one byte of the answer's body."""
    answer = forward(request)
    return replace(answer, body=changed(answer.body))


def corrupt_request(request: Request, forward: Forward) -> ProxyAnswer:
    """Change one byte of the request's body on its way to the server."""
    return forward(replace(request, body=changed(request.body)))


def changed(body: bytes) -> bytes:
    """Bytes with the first one of a name, or the middle one, changed."""
    at = body.find(b"</") + 2 if body.startswith(b"<") else len(body) // 2
    return body[:at] + bytes([body[at] ^ 0x01]) + body[at + 1 :] if body else body


def cut_request(proxy: FaultyProxy) -> Fault:
    """Pass half of the request's body to the server, then reset both connections."""

    def act(request: Request, forward: Forward) -> ProxyAnswer:
        proxy.forward_half(request)
        raise DroppedConnection

    return act


def on_first(matches: Matches, fault: Fault) -> Fault:
    """Break the first request that matches and forward all others."""
    seen: list[Request] = []

    def act(request: Request, forward: Forward) -> ProxyAnswer:
        if matches(request) and not seen:
            seen.append(request)
            return fault(request, forward)
        return forward(request)

    return act


def on_each(matches: Matches, fault: Fault) -> Fault:
    """Break every request that matches."""

    def act(request: Request, forward: Forward) -> ProxyAnswer:
        return fault(request, forward) if matches(request) else forward(request)

    return act


def _error(code: str, request: Request) -> bytes:
    return b"" if request.method == "HEAD" else f"<Error><Code>{code}</Code></Error>".encode()
