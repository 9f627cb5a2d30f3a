"""GET /v1/datasets/{name}/fresh: payloads that are committed and not merged yet.

A baby segment has payloads of many tenants, so no caller gets it. The gateway reads it with its own
rights, and passes on the payloads of the one dataset that the caller's own rights have found.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial

import structlog
from starlette.requests import Request
from starlette.responses import Response

from dataplane.babies.receipts import position_of
from meta.errors import MetaError
from segplane.gateway.http.failures import refusal_of
from segplane.gateway.http.paths import values_of
from segplane.gateway.http.refusals import NotAllowed, QueryRefusal, Stopped
from segplane.gateway.http.responses import Endpoint, answered, refuse
from segplane.gateway.queries.requests import no_dataset
from segplane.gateway.queries.service import QueryService, dataset_at
from segplane.read.errors import ReadError
from segplane.read.rows.baby_payloads import BabyPayloads
from segplane.read.rows.fresh import FreshRecords, TooManyBabies, list_babies
from segplane.read.rows.passed_payloads import end_frame, error_frame, framed

log = structlog.get_logger()
# Some 40 MB of names; they are read one after the other.
BABIES_MAX = 100_000
_PIECE_BYTES = 256 * 1024
_VERSION_DIGITS_MAX = 18
_UNREADABLE = "fresh records cannot be read now: try again"
_TOO_LONG = "the fresh records take longer to read than a query may"


class FreshPayloads:
    """Passes payloads on, each request as one of its caller's queries."""

    def __init__(self, queries: QueryService) -> None:
        self._queries = queries

    def endpoints(self) -> dict[str, Endpoint]:
        """Return what answers each method and path."""
        respond = partial(answered, "fresh", self._respond, refuse)
        return {"GET /v1/datasets/{name}/fresh": respond}

    async def _respond(self, request: Request) -> Response:
        values, version = values_of(request), _asked_version(request)
        shown = values.get("name") or values["id"]
        try:
            caller = await self._queries.caller(request)
        except NotAllowed:
            raise no_dataset(shown) from None
        dataset = await self._queries.read_catalog(caller, partial(dataset_at, values))
        reading = _Reading(self._queries, dataset.id, version, self._queries.deadline())
        return await self._queries.stream(request, caller, reading.begin)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One reading of a dataset beyond a version; frames are of no baby segment."""

    queries: QueryService
    dataset_id: str
    version: int
    deadline: float

    def begin(self) -> Generator[bytes]:
        """List the baby segments, and return the pieces. Raises QueryRefusal."""
        with self.queries.rights.connect() as meta:
            try:
                fresh = list_babies(meta, self.dataset_id, self.version, babies_max=BABIES_MAX)
            except MetaError as error:
                refusal = refusal_of(error)
                # It may name a stream and its offsets.
                refusal.metadata = {}
                raise refusal from error
            except TooManyBabies:
                raise Stopped(
                    f"more than {BABIES_MAX:,} baby segments are not merged yet: read the merged"
                    " records, and tell the operator"
                ) from None
        return self._pieces(fresh)

    def _pieces(self, fresh: FreshRecords) -> Generator[bytes]:
        piece = bytearray()
        for frame in self._frames(fresh):
            piece += frame
            if len(piece) >= _PIECE_BYTES:
                yield bytes(piece)
                piece.clear()
        yield bytes(piece)

    def _frames(self, fresh: FreshRecords) -> Iterator[bytes]:
        if not fresh.babies:
            yield end_frame(0, is_merged_only=fresh.is_merged_only)
            return
        payloads = BabyPayloads(replace(fresh, store=self.queries.store or fresh.store))
        try:
            for payload in payloads:
                yield framed(payload, position_of(payload))
                if time.monotonic() > self.deadline:
                    yield error_frame(_TOO_LONG)
                    return
        except ReadError as error:
            log.warning("fresh_records_unreadable", error=str(error), dataset_id=self.dataset_id)
            yield error_frame(_UNREADABLE)
            return
        yield end_frame(payloads.left_out, is_merged_only=False)


def _asked_version(request: Request) -> int:
    """Return the version beyond which records are asked for, 0 = the current one."""
    text = request.query_params.get("version", "0")
    if not text.isascii() or not text.isdecimal() or len(text) > _VERSION_DIGITS_MAX:
        raise QueryRefusal(f"version is {text[:80]!r}, expected a version's number")
    return int(text)
