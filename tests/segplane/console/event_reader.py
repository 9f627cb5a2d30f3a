"""A browser's side of an event stream, for tests."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import quote, urlencode

from tests.support.gateway.server import GatewayServer

_SECS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event: its kind, its id, and what it says."""

    kind: str
    id: str
    data: Mapping[str, Any]


class EventReader:
    """Events of a stream as they come."""

    def __init__(self, reply: HTTPResponse) -> None:
        self._reply = reply

    def next(self, *kinds: str) -> ServerEvent:
        """Return the next event of some kinds."""
        while True:
            fields = dict(self._block())
            if fields.get("event") in kinds:
                data = json.loads(fields["data"])
                return ServerEvent(fields["event"], fields["id"], data)

    def read_to_end(self) -> None:
        """Wait for the end of the stream."""
        while self._reply.readline():
            pass

    def _block(self) -> Iterator[tuple[str, str]]:
        while line := self._reply.readline():
            text = line.decode().rstrip("\n")
            if not text:
                return
            name, _, value = text.partition(": ")
            yield name, value
        raise EOFError("the stream has ended")


def events_path(*views: Sequence[tuple[str, str]]) -> str:
    """Return the address of a stream of views, each with its parameters."""
    texts = [urlencode(view, quote_via=quote) for view in views]
    return "/ui/live/events?" + urlencode([("view", text) for text in texts], quote_via=quote)


@contextmanager
def following(
    console: GatewayServer, *views: Sequence[tuple[str, str]], **headers: str
) -> Iterator[EventReader]:
    """Open a stream of views, by default of the dataset web."""
    connection = HTTPConnection("127.0.0.1", console.port, timeout=_SECS_MAX)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request("GET", events_path(*(views or [[("dataset", "web")]])), headers=named)
        reply = connection.getresponse()
        assert reply.status == 200, reply.read()
        yield EventReader(reply)
    finally:
        connection.close()
