"""OTLP's bytes into nested Arrow arrays, by ptars and a schema without cycles.

ptars differs from the official classes in one way that matters: of a oneof that occurs twice on the
wire it keeps both members, where the last one counts. Such values raise UndecodableSlice, and their
payloads are rewritten by the official classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ptars
import pyarrow as pa
from google.protobuf.message import DecodeError

from segments.otlp.arrow import Array, field, make, parents, pc
from segments.otlp.official import OFFICIAL_CLASSES
from segments.signals import TRAITS, Signal
from segments.v1 import otlp_columns_pb2 as pb

_POOL = ptars.HandlerPool([pb.DESCRIPTOR])
_ROOTS: dict[Signal, Any] = {
    signal: _POOL.get_for_message(pb.DESCRIPTOR.message_types_by_name[row.messages[0]])
    for signal, row in TRAITS.items()
}
_ARRAY_VALUE = _POOL.get_for_message(pb.ArrayValue.DESCRIPTOR)
_KVLIST_VALUE = _POOL.get_for_message(pb.KeyValueList.DESCRIPTOR)


class UndecodableSlice(Exception):
    """The bytes are not OTLP that we can read."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One signal's messages, each level flattened, with the index of each row's parent.

    `records` are log records, spans or metrics. `resource_slices` says which payload a resource
    came from.
    """

    resources: Array
    resource_slices: Array
    scopes: Array
    scope_resources: Array
    records: Array
    record_scopes: Array


def frame(signal: Signal, slices: Sequence[bytes]) -> Frame:
    """Parse payloads of one signal. Raises UndecodableSlice if any of them will not parse."""
    by_resource, by_scope, by_record = TRAITS[signal].containers
    root = _parse(_ROOTS[signal], make.array(slices, pa.binary()), by_resource)
    resources = root.flatten()
    scope_lists = field(resources, by_scope)
    scopes = scope_lists.flatten()
    record_lists = field(scopes, by_record)
    return Frame(
        resources=resources,
        resource_slices=parents(root),
        scopes=scopes,
        scope_resources=parents(scope_lists),
        records=record_lists.flatten(),
        record_scopes=parents(record_lists),
    )


def array_values(encoded: Array) -> Array:
    """Encoded ArrayValue messages as lists of AnyValue."""
    return _parse(_ARRAY_VALUE, encoded, "values")


def kvlist_values(encoded: Array) -> Array:
    """Encoded KeyValueList messages as lists of KeyValue."""
    return _parse(_KVLIST_VALUE, encoded, "values")


def canonical(signal: Signal, payload: bytes) -> bytes:
    """Return the payload as the official classes would write it: every oneof and field once.

    Raises UndecodableSlice if they refuse it.
    """
    try:
        message = OFFICIAL_CLASSES[signal].FromString(payload)
    except DecodeError as error:
        raise UndecodableSlice(str(error)) from None
    # They keep unknown fields, and skip some that ptars trips over.
    message.DiscardUnknownFields()
    return message.SerializeToString()


def refuse_two_members(members: Sequence[Array]) -> None:
    """Raise UndecodableSlice if in any row more than one of a oneof's members is set."""
    present = [member for member in members if member.null_count < len(member)]
    if len(present) < 2:
        return
    count = sum(len(member) - member.null_count for member in present)
    is_set = pc.is_valid(present[0])
    for member in present[1:]:
        is_set = pc.or_(is_set, pc.is_valid(member))
    if count != pc.sum(is_set).as_py():
        raise UndecodableSlice("a oneof occurs twice")


def _parse(handler: Any, encoded: Array, member: str) -> Array:
    try:
        column: Array = handler.array_to_record_batch(encoded).column(member)
    except ValueError as error:
        raise UndecodableSlice(str(error)) from None
    except BaseException as error:
        # A panic of the Rust library derives from BaseException, and has no class to import.
        if type(error).__name__ != "PanicException":
            raise
        raise UndecodableSlice(f"decoder panic: {error}") from None
    return column
