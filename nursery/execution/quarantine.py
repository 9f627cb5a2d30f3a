"""The quarantine: raw bytes that cannot be merged, each object with a note of the cause.

An object that already exists with equal bytes is success, so a repeated merge changes nothing.
"""

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType

from google.protobuf.message import DecodeError

from dataplane.babies.conformity import QuarantinedPart
from dataplane.babies.payload import Payload
from segments.baby import baby_of
from segments.errors import ObjectExists, StoreError
from segments.export_digest import batch_id_of
from segments.keys import (
    quarantine_key,
    quarantine_note_key,
    quarantine_part_key,
    quarantine_whole_key,
)
from segments.otlp.content import read_facts
from segments.store.interface import ObjectStore
from segments.typed.conformity import OUTSIDE_WINDOW
from segments.v1.combined_signals_pb2 import CombinedSignals

# Misfits that a note names.
NOTED_MISFITS_MAX = 20
_NO_FACTS: Mapping[str, object] = MappingProxyType({})


class Quarantine:
    """Writes quarantine objects, and counts them by cause. Raises StoreError if it cannot."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._counts = Counter[str]()

    def counts(self) -> tuple[tuple[str, int], ...]:
        """Number of objects that were put, by cause."""
        return tuple(sorted(self._counts.items()))

    def put_payload(
        self, payload: Payload, cause: str, detail: str = "", dataset_id: str = ""
    ) -> None:
        """Put one payload, with a note that a replay reads."""
        self._put_payload(_key(payload), payload, cause, detail, dataset_id)

    def put_part(self, part: QuarantinedPart, dataset_id: str) -> None:
        """Put skipped records of a payload; they count once meta has registered it.

        Places in the note are those of the payload that they are taken from.
        """
        payload = part.payload
        is_outside = part.cause == OUTSIDE_WINDOW
        key = quarantine_part_key(_key(payload), payload.piece, part.verdict, is_outside=is_outside)
        detail = part.schema_violations.text(NOTED_MISFITS_MAX)
        self._put_payload(key, payload, part.cause, detail, dataset_id)

    def _put_payload(
        self, key: str, payload: Payload, cause: str, detail: str, dataset_id: str
    ) -> None:
        facts: dict[str, object] = {
            "dataset_id": dataset_id,
            "received_at_nanos": payload.received_at,
            "batch_id": batch_id_of(payload.digest),
        }
        with suppress(DecodeError):
            facts["records"] = read_facts(payload.signal, payload.body).num_records
        self._put(key, payload.body, cause, detail, facts)

    def put_baby(self, stream_id: str, offset: int, body: bytes, error: Exception) -> None:
        """Put a whole baby segment that cannot be decoded."""
        key = quarantine_whole_key(stream_id, offset)
        facts = dict[str, object]()
        with suppress(DecodeError):
            # The baby is found by its stamps, some of which are damaged.
            stamped = baby_of(CombinedSignals.FromString(body))
            facts["records"] = min(stamped.num_records, len(body))
        self._put(key, body, "corrupt_baby", str(error), facts)

    def _put(
        self,
        key: str,
        body: bytes,
        cause: str,
        detail: str,
        facts: Mapping[str, object] = _NO_FACTS,
    ) -> None:
        # The note is written last: a note implies that its bytes exist.
        _put_equal(self._store, key, body)
        note = {
            "cause": f"{cause}: {detail}" if detail else cause,
            "size_bytes": len(body),
            **facts,
        }
        # The note of an earlier attempt may be worded differently; one note is enough.
        with suppress(ObjectExists):
            self._store.put_if_absent(quarantine_note_key(key), json.dumps(note).encode())
        self._counts[cause] += 1


def _key(payload: Payload) -> str:
    return quarantine_key(
        payload.stream_id, payload.offset, payload.token_id, payload.signal, payload.slice_index
    )


def _put_equal(store: ObjectStore, key: str, body: bytes) -> None:
    try:
        store.put_if_absent(key, body)
    except ObjectExists:
        if store.get(key) != body:
            raise StoreError(f"quarantine object {key} exists with other bytes") from None
