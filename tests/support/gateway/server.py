"""A real gateway on its own port, in a thread of this process."""

import asyncio
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from dataplane import meta_connection
from dataplane.location import Locator
from segplane.gateway.config import Settings
from segplane.gateway.console.console import Visitors
from segplane.gateway.http.connection import ConnectionLimits
from segplane.gateway.http.readers import TENANT
from segplane.gateway.queries.processes.pool import ProcessPool
from segplane.gateway.server import build, http_server, listen

DEADLINE_SECS = 120.0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """The sentence of a refusal."""
        return str(self.json["error"]["message"])


class GatewayServer:
    """A gateway, running from the start on; close it at the end."""

    def __init__(
        self,
        meta_address: str,
        meta_token: str = "",
        *,
        limits: ConnectionLimits | None = None,
        pool: ProcessPool | None = None,
        visitors: Visitors | None = None,
        **settings: Any,
    ) -> None:
        values: dict[str, Any] = {"bind": "127.0.0.1:0", "refresh_secs": 0.1, "drain_secs": 2.0}
        self.settings = Settings(meta_address=meta_address, **values | settings)
        own_token = replace(self.settings, meta_auth_token=meta_token)
        self._meta = meta_connection.connect(own_token, TENANT)
        locator = Locator(self._meta, "gateway", self.settings.object_store)
        locator.ask()
        self._listener = listen(self.settings)
        self.port = int(self._listener.getsockname()[1])
        self._gateway = build(self.settings, self._meta, locator, pool, visitors)
        self._server = http_server(self.settings, self._gateway, limits or ConnectionLimits())
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._server.serve([self._listener])),
            # A gateway that does not end fails its test, and does not keep pytest from ending.
            daemon=True,
        )
        self._thread.start()

    @property
    def server(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def uri(self) -> str:
        """The catalog, as clients name it."""
        return f"http://127.0.0.1:{self.port}/iceberg"

    def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Send one request below /iceberg."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._answer(Request(f"{self.uri}/{path}", method=method, headers=named))

    def _answer(self, request: Request) -> Answer:
        try:
            with urlopen(request, timeout=DEADLINE_SECS) as reply:
                return Answer(reply.status, dict(reply.headers), reply.read())
        except HTTPError as error:
            return Answer(error.code, dict(error.headers), error.read())

    def post(self, path: str, content: Any, **headers: str) -> Answer:
        """Send JSON to a path of the server, or bytes as they are."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        named = {"Content-Type": "application/json"} | headers
        request = Request(f"{self.server}/{path}", body, named, method="POST")
        return self._answer(request)

    def send(self, method: str, path: str, content: Any = "", **headers: str) -> Answer:
        """Send JSON to a path of the server by a method; "" = no body."""
        body = None if content == "" else json.dumps(content).encode()
        named = {"Content-Type": "application/json"} | headers
        return self._answer(Request(f"{self.server}/{path}", body, named, method=method))

    def patch(self, path: str, body: bytes) -> Answer:
        """Send a change whose JSON is written by the test."""
        headers = {"Content-Type": "application/json"}
        return self._answer(Request(f"{self.server}/{path}", body, headers, method="PATCH"))

    def get(self, path: str, **headers: str) -> Answer:
        """Ask for a path of the server."""
        return self._answer(Request(f"{self.server}/{path}", headers=headers))

    def query(self, text: str, **fields: Any) -> Answer:
        """Run a query."""
        headers = fields.pop("headers", {})
        return self.post("v1/query", {"query": text, **fields}, **headers)

    def is_healthy(self) -> bool:
        """Ask for its health."""
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=DEADLINE_SECS) as reply:
                return bool(reply.status == 200)
        except HTTPError:
            return False

    def table(self, name: str = "web", **headers: str) -> Answer:
        """Load a table."""
        return self.ask(f"v1/namespaces/default/tables/{name}", **headers)

    def close(self) -> None:
        """Stop it and wait."""
        self._server.stop()
        self._thread.join(DEADLINE_SECS)
        self._gateway.close()
        self._meta.close()
        assert not self._thread.is_alive(), f"the gateway runs {DEADLINE_SECS:.0f} s after its end"
