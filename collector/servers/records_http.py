"""JSON records over HTTP: `POST /v1/datasets/NAME/records`, for programs without an OTLP library.

The ingest token decides the dataset of records, as for OTLP; the name in the path only has to
agree, so that a token for one dataset reveals nothing about others.
"""

import time
from dataclasses import asdict
from http import HTTPStatus
from os import urandom
from typing import Any

from aiohttp import web
from blake3 import blake3

from collector.intake.admission import AdmittedExport
from collector.intake.intake import Intake
from collector.otlp.export import count_refused
from collector.records.json_records import ConvertedRecords, Form, RecordOptions, TakenRecords
from collector.records.json_times import TIMESTAMP_UNITS, TimestampUnit
from collector.refusal import Refusal, Refused, malformed
from collector.servers.http_bodies import Bodies, admit
from collector.servers.http_connections import kept, note_trace
from collector.servers.http_conventions import JSON, answer_refusal
from meta.errors import Code
from meta.telemetry import joined
from segments.export_digest import DIGEST_BYTES

RECORDS_PATH = "/v1/datasets/{name}/records"
RECORDS_PATH_IN_GROUP = "/v1/groups/{group}/datasets/{name}/records"
_FORMS: dict[str, Form] = {
    JSON: "json",
    "application/x-ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/x-jsonlines": "ndjson",
}
KEY_CHARS_MAX = 255
_NO_DATASET = Refused(Refusal(Code.NOT_FOUND, "the ingest token sends no logs to such a dataset"))


class RecordsHttp:
    """The route of one collector."""

    def __init__(self, intake: Intake, bodies: Bodies) -> None:
        self._intake, self._bodies = intake, bodies

    async def take(self, request: web.Request) -> web.Response:
        """Take one request's records and answer once they are committed."""
        form = _FORMS.get(request.content_type)
        if form is None:
            expected = " or ".join(list(_FORMS)[:2])
            text = f"content type is {request.content_type}, expected {expected}"
            refusal = Refusal(Code.INVALID_ARGUMENT, text)
            return answer_refusal(refusal, JSON, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        try:
            taken = await self._take(request, form)
        except Refused as refused:
            count_refused("logs", refused.refusal)
            return answer_refusal(refused.refusal, JSON)
        status = HTTPStatus.OK if taken.num_accepted or not taken.num_rejected else None
        return web.json_response(_answer(taken), status=status or HTTPStatus.BAD_REQUEST)

    async def _take(self, request: web.Request, form: Form) -> TakenRecords:
        key, unit = _idempotency_key(request), _unit(request)
        admission = await self._admit(request)
        with admission, kept(request), joined("records", request.headers.items) as span:
            note_trace(request, span)
            body = await self._bodies.read(request, admission.charge)
            limits = self._intake.limits
            options = RecordOptions(
                form,
                time.time_ns(),
                limits.attributes,
                unit or admission.usage.timestamp_unit,
                request.headers.get("traceparent", ""),
                limits.export_records_max,
                (_dataset_name(request), admission.dataset_id),
            )

            def digest(converted: ConvertedRecords) -> bytes:
                return digest_of_records(admission.token.token_id, key, body, converted, unit)

            return await self._intake.accept_records(admission, body, options, digest)

    async def _admit(self, request: web.Request) -> AdmittedExport:
        """Admit a request whose token sends logs to the dataset of its path."""
        try:
            admission = await admit(self._intake, request, "logs")
        except Refused as refused:
            # The token takes no logs at all: as for any other dataset.
            if refused.refusal.code is Code.PERMISSION_DENIED:
                raise _NO_DATASET from None
            raise
        if self._intake.quotas.dataset_name(admission.dataset_id) != _dataset_name(request):
            raise _NO_DATASET
        return admission


def _dataset_name(request: web.Request) -> str:
    """Return the name that a path gives a dataset; "" for none that one can have."""
    group, name = request.match_info.get("group"), request.match_info["name"]
    if group is None:
        return name
    return "" if "/" in group or "/" in name else f"{group}/{name}"


def digest_of_records(
    token_id: str, key: str, body: bytes, converted: ConvertedRecords, unit: TimestampUnit | None
) -> bytes:
    """Digest that a duplicate of these records shares; of two equal clicks each has its own.

    `unit` is the one that the request names: in another unit, equal bytes have other times.
    """
    if not key and not converted.are_distinguishable:
        return urandom(DIGEST_BYTES)
    kind = "key" if key else f"body{unit or ''}"
    digest = blake3(f"{token_id}\0records\0{kind}\0".encode())
    digest.update(key.encode() if key else body)
    return digest.digest(DIGEST_BYTES)


def _idempotency_key(request: web.Request) -> str:
    key = request.headers.get("Idempotency-Key", "")
    if len(key) > KEY_CHARS_MAX or not (key.isascii() and key.isprintable()):
        raise malformed(f"Idempotency-Key is not up to {KEY_CHARS_MAX} printable ASCII characters")
    return key


def _unit(request: web.Request) -> TimestampUnit | None:
    name = request.query.get("timestamp_unit")
    if name is None:
        return None
    for unit in TIMESTAMP_UNITS:
        if name == unit:
            return unit
    raise malformed(f"timestamp_unit is not one of {', '.join(TIMESTAMP_UNITS)}")


def _answer(taken: TakenRecords) -> dict[str, Any]:
    return {
        "accepted": taken.num_accepted,
        "rejected": taken.num_rejected,
        "repeated": taken.is_repeat,
        "batch_id": taken.batch_id,
        "errors": [asdict(error) for error in taken.errors],
    }
