"""Messages and the client of meta, for commands that must not import them for their help.

A module of messages is imported when one of its names is used, the client when a command connects.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "MetaClient",
    "catalog_pb2",
    "common_pb2",
    "ingest_token_pb2",
    "janitor_pb2",
    "nursery_pb2",
    "operations_pb2",
    "resources_pb2",
    "segment_lookup_pb2",
    "status_pb2",
]


class _Messages:
    """Placeholder of a module of messages, which it imports once a name is used."""

    def __init__(self, name: str) -> None:
        self._name = f"meta.v1.{name}"

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    from meta.client import MetaClient
    from meta.v1 import (
        catalog_pb2,
        common_pb2,
        ingest_token_pb2,
        janitor_pb2,
        nursery_pb2,
        operations_pb2,
        resources_pb2,
        segment_lookup_pb2,
        status_pb2,
    )
else:
    MetaClient = object
    for _module in __all__[1:]:
        globals()[_module] = _Messages(_module)
