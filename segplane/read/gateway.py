"""Requests of a gateway with the credential of a client of meta, by SEGPLANE_GATEWAY_ADDRESS."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from meta.client import MetaClient
from segplane.read.errors import ReadError, sentence

ADDRESS_VARIABLE = "SEGPLANE_GATEWAY_ADDRESS"
DEFAULT_ADDRESS = "127.0.0.1:9580"
_REQUEST_SECS = 120.0
_REPLY_BYTES_MAX = 64 * 2**20
_REFUSAL_BYTES_MAX = 64 * 2**10


class GatewayRefused(ReadError):
    """A gateway that does not answer as asked; `reason` is that of meta, "" = another one."""

    def __init__(self, message: str, reason: str = "", status: int = 0) -> None:
        super().__init__(message)
        self.reason = reason
        self.status = status


class _NoRedirects(HTTPRedirectHandler):
    """A redirection could carry the credential to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


_opener = build_opener(_NoRedirects)


def gateway_url() -> str:
    """Return the URL of the gateway that the environment names."""
    address = os.environ.get(ADDRESS_VARIABLE) or DEFAULT_ADDRESS
    return (address if "://" in address else f"http://{address}").rstrip("/")


def opened(client: MetaClient, method: str, path: str, content: object = None) -> HTTPResponse:
    """Send a request, with JSON unless `content` is None. Raises GatewayRefused."""
    url = gateway_url()
    headers = dict(client.metadata())
    body = None
    if content is not None:
        headers["content-type"], body = "application/json", json.dumps(content).encode()
    request = Request(f"{url}{path}", body, headers, method=method)
    try:
        answer: HTTPResponse = _opener.open(request, timeout=_REQUEST_SECS)
    except HTTPError as error:
        raise _refused(url, error) from None
    except (OSError, HTTPException, ValueError) as error:
        raise GatewayRefused(
            f"the gateway at {url} does not answer: {sentence(error)}: set {ADDRESS_VARIABLE}"
        ) from error
    return answer


def asked(client: MetaClient, method: str, path: str, content: object = None) -> dict[str, Any]:
    """Send a request and return the JSON of its answer. Raises GatewayRefused."""
    try:
        with opened(client, method, path, content) as answer:
            reply: dict[str, Any] = json.loads(answer.read(_REPLY_BYTES_MAX))
    except (OSError, HTTPException, ValueError) as error:
        raise GatewayRefused(f"the gateway's answer was cut off: {sentence(error)}") from error
    return reply


def _refused(url: str, error: HTTPError) -> GatewayRefused:
    text = error.read(_REFUSAL_BYTES_MAX).decode(errors="replace")
    refusal: Mapping[str, Any] = {}
    try:
        refusal = json.loads(text)["error"]
        message = str(refusal["message"])
    except (ValueError, KeyError, TypeError):
        message = f"the gateway at {url} answers {error.code}"
    return GatewayRefused(message, str(refusal.get("reason", "")), error.code)
