"""Requests that a test breaks, and the answers it gives to them."""

import dataclasses
from collections.abc import Callable

from segments.store.timeouts import RequestTimeouts
from segments.store.upload_body import PART_BYTES
from tests.support.object_store.faulty_proxy import DroppedConnection, Forward, ProxyAnswer, Request

SOON = RequestTimeouts(deadline_secs=60.0, wait_secs_min=0.01)
HASTY = dataclasses.replace(SOON, deadline_secs=0.5)
TWO_PARTS = b"p" * (PART_BYTES + 5)


def on_first(
    matches: Callable[[Request], bool], fault: Callable[[Request, Forward], ProxyAnswer]
) -> Callable[[Request, Forward], ProxyAnswer]:
    """Break the first request that matches and forward all others."""
    seen: list[Request] = []

    def act(request: Request, forward: Forward) -> ProxyAnswer:
        if matches(request) and not seen:
            seen.append(request)
            return fault(request, forward)
        return forward(request)

    return act


def always(answer: ProxyAnswer) -> Callable[[Request, Forward], ProxyAnswer]:
    """Answer every request so, and forward none."""

    def act(request: Request, forward: Forward) -> ProxyAnswer:
        return answer

    return act


def is_put(request: Request) -> bool:
    return request.method == "PUT" and "uploadId" not in request.target


def is_complete(request: Request) -> bool:
    return request.method == "POST" and "uploadId" in request.target


def is_get(request: Request) -> bool:
    return request.method == "GET" and "list-type" not in request.target


def lose_answer(request: Request, forward: Forward) -> ProxyAnswer:
    forward(request)
    raise DroppedConnection


def ignore_condition(request: Request, forward: Forward) -> ProxyAnswer:
    headers = {k: v for k, v in request.headers.items() if k.lower() != "if-none-match"}
    return forward(dataclasses.replace(request, headers=headers))


def truncate(request: Request, forward: Forward) -> ProxyAnswer:
    answer = forward(request)
    return dataclasses.replace(answer, body=answer.body[:-3], claimed_length=len(answer.body))
