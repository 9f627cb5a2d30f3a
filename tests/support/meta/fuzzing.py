"""Requests that a careless or hostile client may send, made from the served descriptors.

Bytes that are not a message, messages whose fields hold anything, and valid requests with a few
changed fields. Ids, names, keys and cursors of earlier replies are sent again: many get past
the first check.
"""

import math
import random
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import grpc
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2

from meta.client import MetaClient
from tests.support.meta.all_rpcs import Watched, live

FORBIDDEN = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}
POOL_MAX = 300
TEXTS = (
    "",
    "default",
    "web",
    "x",
    " ",
    "x" * 256,
    "x" * 70_000,
    "nul\0",
    "tab\t",
    "del\x7f",
    "line\u2028",
    "\ufeff",
    "\U0010ffff" * 255,
    "é" * 255,
    "a//b",
    "../../etc/passwd",
    "/",
    "%s%n{}",
    "'; DROP TABLE datasets; --",
    "dataset/x/merged",
    "ingest-stream/x/00000000000000000000",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "{0190b5a0-0000-7000-8000-000000000000}",
    "0190b5a0-0000-7000-8000-00000000000g",
    "AAAA",
    "====",
    "it_abc",
    "s3",
    "file",
)
NUMBERS = (0, 1, -1, 2, 7, 100, 1_000, 10_001, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1)
FLOATS = (0.0, -0.0, 1.0, -1.0, 1e308, 5e-324, math.nan, math.inf, -math.inf)


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


@dataclass
class Fuzzer:
    """Makes requests; `pool` holds what earlier replies said."""

    rng: random.Random
    # Requests that were once right, by method.
    valid: dict[str, list[Message]]
    pool: list[str] = field(default_factory=list)

    def request(self, method: MethodDescriptor) -> bytes:
        """Serialize a request of a method, sometimes one that is not a message."""
        message = GetMessageClass(method.input_type)()
        if method.name in self.valid and self.rng.random() < 0.6:
            message.CopyFrom(self.rng.choice(self.valid[method.name]))
            for _ in range(self.rng.randint(0, 2)):
                self.change(message)
        else:
            self.message(message, depth=0)
        raw = message.SerializeToString()
        if self.rng.random() < 0.15:
            return self._damaged(raw)
        return raw

    def change(self, target: Message) -> None:
        """Change one field of a message or of one inside it."""
        if not target.DESCRIPTOR.fields:
            return
        one: Any = self.rng.choice(list(target.DESCRIPTOR.fields))
        if one.is_repeated:
            items = getattr(target, one.name)
            is_list = one.message_type is not None and not _is_map(one)
            if is_list and items and self.rng.random() < 0.8:
                self.change(self.rng.choice(items))
            else:
                self._add(target, one, 4)
        elif one.message_type is not None:
            self.change(getattr(target, one.name))
        else:
            setattr(target, one.name, self._value(one))

    def message(self, target: Message, depth: int) -> Message:
        """Fill some of a message's fields."""
        for one in target.DESCRIPTOR.fields:
            if self.rng.random() < 0.25 or depth > 5:
                continue
            if one.is_repeated:
                for _ in range(self.rng.choice((0, 1, 1, 2, 3, 40))):
                    self._add(target, one, depth)
            elif one.message_type is not None:
                getattr(target, one.name).SetInParent()
                self.message(getattr(target, one.name), depth + 1)
            else:
                setattr(target, one.name, self._value(one))
        return target

    def harvest(self, reply: Message) -> None:
        """Remember the texts of a reply."""
        for one, value in reply.ListFields():
            values = value if one.is_repeated else [value]
            for item in list(values)[:5]:
                if isinstance(item, Message):
                    self.harvest(item)
                elif isinstance(item, str) and item:
                    self.pool.append(item)
        if len(self.pool) > POOL_MAX:
            self.pool = self.rng.sample(self.pool, POOL_MAX)

    def _add(self, target: Message, one: Any, depth: int) -> None:
        items = getattr(target, one.name)
        if _is_map(one):
            key, value = one.message_type.fields
            items[self._value(key)] = self._value(value)
        elif one.message_type is not None:
            self.message(items.add(), depth + 1)
        else:
            items.append(self._value(one))

    def _value(self, one: Any) -> Any:
        if one.type == FieldDescriptor.TYPE_STRING:
            return self._text()
        if one.type == FieldDescriptor.TYPE_BYTES:
            return self.rng.randbytes(self.rng.choice((0, 1, 16, 17, 5_000)))
        if one.type == FieldDescriptor.TYPE_BOOL:
            return self.rng.random() < 0.5
        if one.type in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT):
            return self.rng.choice(FLOATS)
        if one.type == FieldDescriptor.TYPE_ENUM:
            return self.rng.choice((0, 1, 2, 3, 99, -1, 2**31 - 1))
        return self._number(one)

    def _number(self, one: Any) -> int:
        is_unsigned = one.cpp_type in (
            FieldDescriptor.CPPTYPE_UINT32,
            FieldDescriptor.CPPTYPE_UINT64,
        )
        is_small = one.cpp_type in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32)
        number = self.rng.choice(NUMBERS)
        if is_small:
            number = min(number, 2**31 - 1)
        if not is_unsigned and self.rng.random() < 0.2:
            number = -number
        return max(number, 0) if is_unsigned else number

    def _text(self) -> str:
        chance = self.rng.random()
        if self.pool and chance < 0.6:
            return self.rng.choice(self.pool)
        if chance < 0.7:
            return str(UUID(int=self.rng.getrandbits(128)))
        return self.rng.choice(TEXTS)

    def _damaged(self, raw: bytes) -> bytes:
        changed = bytearray(raw or b"\x00")
        for _ in range(self.rng.randint(1, 4)):
            changed[self.rng.randrange(len(changed))] = self.rng.randrange(256)
        return bytes(changed[: self.rng.randint(0, len(changed))])


def call(
    channel: grpc.Channel,
    method: MethodDescriptor,
    raw: bytes,
    auth_token: str = "",
    timeout: float | None = 30.0,
) -> Message | grpc.RpcError:
    """Send raw bytes; answers the (last) reply or the refusal. Without a timeout, no deadline."""
    metadata = (("authorization", f"Bearer {auth_token}"),) if auth_token else ()
    path = f"/{method.containing_service.full_name}/{method.name}"
    parse = GetMessageClass(method.output_type).FromString
    try:
        if method.client_streaming:
            stream: Any = channel.stream_stream(path, response_deserializer=parse)
            replies = list(stream(iter([raw]), timeout=timeout, metadata=metadata))
            return replies[-1] if replies else GetMessageClass(method.output_type)()
        if method.server_streaming:
            watch: Any = channel.unary_stream(path, response_deserializer=parse)
            watched = watch(raw, timeout=timeout, metadata=metadata)
            first: Message = next(watched)
            watched.cancel()
            return first
        unary: Any = channel.unary_unary(path, response_deserializer=parse)
        reply: Message = unary(raw, timeout=timeout, metadata=metadata)
        return reply
    except grpc.RpcError as error:
        return error


def reason_of(error: Any) -> str:
    """The ErrorInfo reason; every refusal of ours has one."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info):
                    return str(info.reason)
    return ""


def valid_requests(client: MetaClient) -> dict[str, list[Message]]:
    """Live through one life of everything; answers all requests of it."""
    sent: dict[str, list[Message]] = {}

    def record(method: str, send: Any, request: Message) -> Any:
        sent.setdefault(method, []).append(request)
        return send(request)

    live(Watched(client, record))
    return sent
