"""Requests that a test breaks, and the answers it gives to them."""

import dataclasses
from collections.abc import Callable

from segments.store.s3.client import RequestTimeouts
from segments.store.s3.write import PART_BYTES
from tests.support.object_store.faulty_proxy import Answer, Dropped, Forward, Request

SOON = RequestTimeouts(deadline_secs=60.0, wait_secs_min=0.01)
HASTY = dataclasses.replace(SOON, deadline_secs=0.5)
TWO_PARTS = b"p" * (PART_BYTES + 5)


def on_first(
    matches: Callable[[Request], bool], fault: Callable[[Request, Forward], Answer]
) -> Callable[[Request, Forward], Answer]:
    """Break the first request that matches and forward all others."""
    seen: list[Request] = []

    def act(request: Request, forward: Forward) -> Answer:
        if matches(request) and not seen:
            seen.append(request)
            return fault(request, forward)
        return forward(request)

    return act


def always(answer: Answer) -> Callable[[Request, Forward], Answer]:
    """Answer every request so, and forward none."""

    def act(request: Request, forward: Forward) -> Answer:
        return answer

    return act


def is_put(request: Request) -> bool:
    return request.method == "PUT" and "uploadId" not in request.target


def is_complete(request: Request) -> bool:
    return request.method == "POST" and "uploadId" in request.target


def is_get(request: Request) -> bool:
    return request.method == "GET" and "list-type" not in request.target


def lose_answer(request: Request, forward: Forward) -> Answer:
    forward(request)
    raise Dropped


def ignore_condition(request: Request, forward: Forward) -> Answer:
    headers = {k: v for k, v in request.headers.items() if k.lower() != "if-none-match"}
    return forward(dataclasses.replace(request, headers=headers))


def truncate(request: Request, forward: Forward) -> Answer:
    answer = forward(request)
    return dataclasses.replace(answer, body=answer.body[:-3], claimed_length=len(answer.body))
