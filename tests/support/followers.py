"""Readers of the change feed that keep the segments which it shows."""

from typing import Any

import grpc

from meta.client import MetaClient, typed_error
from meta.errors import MetaError
from meta.v1 import operations_pb2 as pb


class Follower:
    """A reader that keeps the set of segments from the changes it receives."""

    def __init__(self, client: MetaClient, since: int, name: str = "web") -> None:
        request = pb.WatchDatasetRequest(dataset_name=name, since_version=since)
        self.call: Any = client.operations.WatchDataset(request, timeout=60)
        self.shown = set[str]()
        self.through = since

    def receive(self) -> pb.WatchDatasetResponse:
        """Take one message. Raises the error that ends the stream."""
        try:
            message: pb.WatchDatasetResponse = next(self.call)
        except grpc.RpcError as error:
            raise typed_error(error) from None
        for one in message.changes:
            (self.shown.remove if one.is_removed else self.shown.add)(one.segment.id)
        assert message.through_version >= self.through
        self.through = message.through_version
        return message

    def follow(self, version: int) -> set[str]:
        """Receive until a version; returns what it shows."""
        while self.through < version:
            self.receive()
        return self.shown

    def end(self) -> MetaError:
        """Receive until the stream ends; returns its error."""
        while True:
            try:
                self.receive()
            except MetaError as error:
                return error
