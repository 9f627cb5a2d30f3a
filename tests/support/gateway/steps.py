"""A server on this machine by which an engine in another process tells what it does next."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


class _Steps(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, begin: Callable[[str], object]) -> None:
        super().__init__(("127.0.0.1", 0), _StepHandler)
        self.begin = begin


class _StepHandler(BaseHTTPRequestHandler):
    server: _Steps

    def do_GET(self) -> None:
        """Tell the test; who asks waits for it."""
        self.server.begin(unquote(self.path.removeprefix("/")))
        self.send_response_only(204)
        self.end_headers()


@contextmanager
def running_steps(begin: Callable[[str], object]) -> Iterator[str]:
    """Run a server that calls `begin` with the name of each step; gives its address."""
    with _Steps(begin) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05], name="steps")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
