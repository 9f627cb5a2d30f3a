"""The HTTP port on which a process serves its Prometheus metrics."""

import io
import ssl
import threading
from socket import SOCK_STREAM, getaddrinfo, socket
from socketserver import ThreadingMixIn
from typing import Any, TextIO
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app

from meta.process.exits import ConfigError
from meta.process.metrics_address import MetricsAddress
from meta.process_metrics import METRICS_FAULTS

REQUEST_SECS_MAX = 10.0


def serve_metrics(at: MetricsAddress) -> None:
    """Serve Prometheus metrics. Raises ConfigError if the address cannot be had."""
    if at.port == 0:
        return
    try:
        _start_server(at, None if at.tls is None else at.tls.ssl_context())
    except OSError as error:
        raise ConfigError(f"metrics cannot be served on {at.host}:{at.port}: {error}") from error


def _start_server(at: MetricsAddress, context: ssl.SSLContext | None) -> None:
    family = getaddrinfo(at.host, at.port, type=SOCK_STREAM)[0][0]

    class Server(ThreadingMixIn, WSGIServer):
        daemon_threads = True
        address_family = family

        def get_request(self) -> tuple[socket, Any]:
            # prometheus_client shakes hands before it accepts the next connection, so that one
            # silent peer would end the metrics. Here the connection's own thread does.
            connection, address = super().get_request()
            connection.settimeout(REQUEST_SECS_MAX)
            if context is None:
                return connection, address
            secured = context.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
            return secured, address

        def handle_error(self, *_: object) -> None:
            """Count a failed handshake or a broken request, because any scanner causes one."""
            METRICS_FAULTS.inc()

    server = make_server(at.host, at.port, make_wsgi_app(), Server, handler_class=_Handler)
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()


class _Handler(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log no requests."""

    def get_stderr(self) -> TextIO:
        """Count a request that fails in the application, whose traceback may have the request."""
        return _Faults()


class _Faults(io.StringIO):
    def write(self, text: str) -> int:
        if not self.tell():
            METRICS_FAULTS.inc()
        return super().write(text)
