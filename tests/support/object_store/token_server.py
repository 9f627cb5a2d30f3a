"""A server that gives out tokens, as a cloud's metadata server and token endpoints do."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from tests.support.certificates import CertificateFiles

# Gives the status and the document to a path and the fields of a form.
Reply = Callable[[str, Mapping[str, str]], tuple[int, Mapping[str, Any]]]


class TokenServer(ThreadingHTTPServer):
    """Answers by `reply`; `forms` keeps the forms that were posted."""

    daemon_threads = True

    def __init__(self, reply: Reply, certificate: CertificateFiles | None) -> None:
        super().__init__(("127.0.0.1", 0), _TokenHandler)
        self.reply = reply
        self.forms: list[Mapping[str, str]] = []
        self._scheme = "http"
        if certificate is not None:
            secure(self, certificate)
            self._scheme = "https"

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        """URL for clients."""
        return f"{self._scheme}://{self.host}"


def secure(server: ThreadingHTTPServer, certificate: CertificateFiles) -> None:
    """Have a server that does not serve yet take TLS alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.cert, certificate.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)


@contextmanager
def running_token_server(
    reply: Reply, certificate: CertificateFiles | None = None
) -> Iterator[TokenServer]:
    """Run a server."""
    with TokenServer(reply, certificate) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05], name="tokens")
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _TokenHandler(BaseHTTPRequestHandler):
    server: TokenServer

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        form = dict(parse_qsl(body))
        if form:
            self.server.forms.append(form)
        status, document = self.server.reply(self.path, form)
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    do_GET = do_POST = _answer  # noqa: N815
