"""Sends log records to a collector and waits until readers see each of them once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

if TYPE_CHECKING:
    from segplane.read import OpenDataset

_BATCH_RECORDS = 512
_TRIES_MAX = 5
_RETRY_SECS = 1.0
_POLL_SECS = 0.5
_REQUEST_SECS = 60.0
# 0 = no answer.
_AGAIN = (0, 429, 502, 503, 504)
# Attributes of a record: its run, and its number in the run.
RUN, NUMBER = "segplane.test_send.run", "segplane.test_send.number"


class DeliveryFailed(Exception):
    """Records did not arrive; the message says how far they came."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step that all records have taken, `seconds` after the first was sent."""

    name: str
    records: int
    seconds: float


@dataclass(frozen=True, slots=True)
class OtlpTarget:
    """A collector's address for OTLP over HTTP, and an ingest token."""

    endpoint: str
    token: str


def deliver(
    target: OtlpTarget,
    count: int,
    steps: Mapping[str, Callable[[int], OpenDataset]],
    timeout_secs: float,
) -> Iterator[Step]:
    """Send `count` records, and yield each step once all of them have taken it.

    After the acknowledgement come the `steps`: functions that open what must show the records from
    a time in nanoseconds on, with the column `attributes`. Raises DeliveryFailed, ReadError.
    """
    run, started = uuid4().hex, time.monotonic()
    sent_at = time.time_ns()
    for first in range(0, count, _BATCH_RECORDS):
        send(target, run, range(first, min(count, first + _BATCH_RECORDS)))
    yield Step("acknowledged", count, time.monotonic() - started)
    for name, open_at in steps.items():
        _await(name, partial(open_at, sent_at), run, count, started + timeout_secs)
        yield Step(name, count, time.monotonic() - started)


def _await(
    name: str, open_now: Callable[[], OpenDataset], run: str, count: int, deadline: float
) -> None:
    while True:
        with open_now() as dataset:
            numbers = numbers_of(dataset, run)
        if len(numbers) > len(set(numbers)):
            raise DeliveryFailed(
                f"{len(numbers) - len(set(numbers))} of {count} records are there twice"
            )
        if len(numbers) == count:
            return
        if time.monotonic() > deadline:
            raise DeliveryFailed(
                f"{len(numbers)} of {count} acknowledged records are {name} in time:"
                " `segplane streams list` shows what waits to be merged"
            )
        time.sleep(_POLL_SECS)


def numbers_of(dataset: OpenDataset, run: str) -> list[int]:
    """Return the numbers of a run's records; one that is there twice has its number twice."""
    numbers: list[int] = []
    for batch in dataset.to_reader():
        texts = batch.column("attributes").to_pylist()
        numbers += [int(json.loads(text)[NUMBER]) for text in texts if text and run in text]
    return numbers


def _export(run: str, numbers: range) -> bytes:
    now = str(time.time_ns())
    records = [
        {
            "timeUnixNano": now,
            "severityNumber": 9,
            "body": {"stringValue": f"test record {number}"},
            "attributes": [
                {"key": RUN, "value": {"stringValue": run}},
                {"key": NUMBER, "value": {"intValue": str(number)}},
            ],
        }
        for number in numbers
    ]
    service = {"key": "service.name", "value": {"stringValue": "segplane-test-send"}}
    resource_logs = {"resource": {"attributes": [service]}, "scopeLogs": [{"logRecords": records}]}
    return json.dumps({"resourceLogs": [resource_logs]}).encode()


def send(target: OtlpTarget, run: str, numbers: range, request_secs: float = _REQUEST_SECS) -> None:
    """Send records of a run as one export; raises DeliveryFailed unless all are accepted."""
    if not target.endpoint.startswith(("http://", "https://")):
        raise DeliveryFailed(f"endpoint {target.endpoint!r} is not an http:// or https:// address")
    url = f"{target.endpoint.rstrip('/')}/v1/logs"
    status, reply = post(url, target.token, _export(run, numbers), "application/json", request_secs)
    if not status:
        raise DeliveryFailed(f"the collector at {url} cannot be reached: {reply.decode()}")
    if status != HTTPStatus.OK:
        raise DeliveryFailed(f"the collector answers {status}: {_text(reply)}")
    try:
        partial = (json.loads(reply or b"{}") or {}).get("partialSuccess") or {}
        rejected = int(partial.get("rejectedLogRecords") or 0)
    except (ValueError, AttributeError, TypeError):
        text = f"the collector answers 200, and no reply of OTLP: {_text(reply)[:500]}"
        raise DeliveryFailed(text) from None
    if rejected:
        raise DeliveryFailed(f"the collector rejected {rejected}: {partial.get('errorMessage')}")


def post(
    url: str, token: str, body: bytes, media_type: str, request_secs: float = _REQUEST_SECS
) -> tuple[int, bytes]:
    """Send an export until it is answered; a collector takes a repeated one once.

    Returns the status and body; the status is 0 if there is none, and the body the reason.
    """
    headers = {"content-type": media_type, "authorization": f"Bearer {token}"}
    for tries in range(1, _TRIES_MAX + 1):
        try:
            with urlopen(Request(url, body, headers), timeout=request_secs) as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            status, reply = error.code, _body(error)
        except (OSError, HTTPException, ValueError) as error:
            # A header that cannot be sent is a ValueError.
            status, reply = 0, str(getattr(error, "reason", error)).encode()
        if tries == _TRIES_MAX or status not in _AGAIN:
            break
        time.sleep(_RETRY_SECS)
    return status, reply


def _body(error: HTTPError) -> bytes:
    """Return the body of a refusal; empty if it is cut off."""
    with suppress(OSError, HTTPException):
        return error.read()
    return b""


def _text(reply: bytes) -> str:
    """Return the collector's message, on one line."""
    body = reply[:4_096].decode(errors="replace")
    with suppress(ValueError, KeyError, TypeError):
        body = str(json.loads(body)["message"])
    return " ".join(body.split())
