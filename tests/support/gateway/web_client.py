"""A browser without pages: it keeps cookies, follows no redirect, and sends forms."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPMessage, HTTPSConnection
from http.cookies import SimpleCookie
from ssl import SSLContext
from urllib.parse import urlencode

_FORM_TOKEN = re.compile(rb'name="form_token" value="([0-9a-f]+)"')


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """An answer with all its headers."""

    status: int
    headers: HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def location(self) -> str:
        return self.headers["location"] or ""

    def cookies(self) -> Iterator[str]:
        """Yield each cookie that is set, with its attributes."""
        yield from self.headers.get_all("set-cookie") or []

    @property
    def form_token(self) -> str:
        match = _FORM_TOKEN.search(self.body)
        assert match is not None, self.text
        return match[1].decode()


@dataclass
class WebClient:
    """A person's browser at one gateway; `host` and `origin` default to its loopback address."""

    port: int
    host: str = ""
    origin: str = ""
    cookies: dict[str, str] = field(default_factory=dict)
    tls: SSLContext | None = None

    def __post_init__(self) -> None:
        self.host = self.host or f"127.0.0.1:{self.port}"
        self.origin = self.origin or f"http://{self.host}"

    def get(self, path: str, /, **headers: str) -> WebAnswer:
        """Ask for a page."""
        return self.send("GET", path, b"", headers)

    def post(self, path: str, fields: Mapping[str, str], /, **headers: str) -> WebAnswer:
        """Send a form of the console's own page."""
        form = {"Origin": self.origin, "Content_Type": "application/x-www-form-urlencoded"}
        return self.send("POST", path, urlencode(fields).encode(), form | headers)

    def send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> WebAnswer:
        """Send exactly these headers, the host, the cookies and the length; "" = not this one."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        if self.tls is not None:
            connection = HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.tls)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in ({"Host": self.host} | dict(headers)).items():
                if value:
                    connection.putheader(name.replace("_", "-"), value)
            if self.cookies:
                pairs = (f"{name}={value}" for name, value in self.cookies.items())
                connection.putheader("Cookie", "; ".join(pairs))
            if body:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            reply = connection.getresponse()
            answer = WebAnswer(reply.status, reply.headers, reply.read())
        finally:
            connection.close()
        self._keep(answer)
        return answer

    def _keep(self, answer: WebAnswer) -> None:
        for text in answer.cookies():
            for name, morsel in SimpleCookie(text).items():
                if morsel["max-age"] == "0":
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = morsel.value
