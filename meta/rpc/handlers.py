"""Handlers of the methods of a service, whose functions take a request, or an iterator of them."""

from collections.abc import Callable, Iterator
from typing import Any

import grpc
from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass

# By whether requests and replies are streams.
_HANDLERS: dict[tuple[bool, bool], Callable[..., Any]] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}


def handlers_of(service: str, find: Callable[[str], Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the handler of each method of a service; `find` finds its function."""
    for method in Default().FindServiceByName(service).methods:
        handler = _HANDLERS[method.client_streaming, method.server_streaming]
        yield (
            method.name,
            handler(
                find(method.name),
                GetMessageClass(method.input_type).FromString,
                GetMessageClass(method.output_type).SerializeToString,
            ),
        )
