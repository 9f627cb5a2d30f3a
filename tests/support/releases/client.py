"""A client of meta made from a release's descriptors alone, as one in another language is."""

import json
from types import TracebackType
from typing import Any, Self

import grpc
from google.protobuf import json_format
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tests.support.releases.release import Release

PACKAGE = "meta.v1"
DEADLINE_SECS = 30.0
# A message as JSON.
Fields = dict[str, Any]


def descriptor_pool(release: Release) -> DescriptorPool:
    """Return the messages and services of a release, apart from those of the installed stubs."""
    files = FileDescriptorSet.FromString((release.fixtures / "descriptors.binpb").read_bytes())
    pool = DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool


class DescribedClient:
    """A connection to meta whose messages have a release's fields and no others."""

    def __init__(self, release: Release, address: str, token: str = "") -> None:
        self._pool = descriptor_pool(release)
        self._channel = grpc.insecure_channel(address)
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._channel.close()

    def call(self, method: str, request: Fields | None = None) -> dict[str, Any]:
        """Call `Service.Method` with a request as JSON; returns the reply as JSON."""
        service, _, name = method.partition(".")
        found: MethodDescriptor = self._pool.FindServiceByName(
            f"{PACKAGE}.{service}"
        ).methods_by_name[name]
        reply_class = GetMessageClass(found.output_type)
        message = json_format.ParseDict(
            request or {}, GetMessageClass(found.input_type)(), descriptor_pool=self._pool
        )
        send = self._channel.unary_unary(
            f"/{PACKAGE}.{service}/{name}", _serialize, reply_class.FromString
        )
        reply = send(message, timeout=DEADLINE_SECS, metadata=self._metadata)
        return _as_json(reply, self._pool)


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


def _as_json(message: Message, pool: DescriptorPool) -> dict[str, Any]:
    text = json_format.MessageToJson(
        message, preserving_proto_field_name=True, descriptor_pool=pool, sort_keys=True
    )
    reply: dict[str, Any] = json.loads(text)
    return reply
