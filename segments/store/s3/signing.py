"""Signatures of single reads, for callers that have no keys of their own.

Signature Version 4 in headers: a store takes one for 15 minutes, for this method and object only.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from segments.location import StoreLocation

METHODS = ("GET", "HEAD")
DEFAULT_REGION = "us-east-1"
_UNSIGNED = "UNSIGNED-PAYLOAD"
_PAYLOADS = (_UNSIGNED, hashlib.sha256(b"").hexdigest())
_PAYLOAD_HEADER = "x-amz-content-sha256"
# A store wants all of a request's headers with this prefix signed, whatever a client sends. None
# changes the object or the method.
_STORE_PREFIX = "x-amz-"
_MADE_HERE = (_PAYLOAD_HEADER, "x-amz-date", "x-amz-security-token")
_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"[\x21-\x7e]{1,2048}")
_REGION = re.compile("[a-z0-9-]{1,32}")


@dataclass(frozen=True, slots=True)
class AccessKeys:
    """Keys of a store; a session token belongs to keys that expire."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request of a store's protocol, before it is signed; names of headers are in lower case."""

    method: str
    url: str
    region: str
    headers: Mapping[str, str]


def find_key(location: StoreLocation, request: ReadRequest) -> str | None:
    """Return the key, relative to the store's base path, of the object that a request reads.

    None for another store, another method, and anything that a query asks for, such as a list.
    """
    if request.method not in METHODS or not _URL.fullmatch(request.url):
        return None
    try:
        parts = urlsplit(request.url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    host = (parts.scheme, parts.hostname or "", port)
    if any(mark in request.url for mark in "?#@"):
        return None
    for scheme, name, number, path in _bases(location, region_of(location, request.region)):
        if host == (scheme, name, number) and unquote(parts.path).startswith(path):
            return unquote(parts.path).removeprefix(path)
    return None


def sign(location: StoreLocation, keys: AccessKeys, request: ReadRequest) -> dict[str, str]:
    """Return the headers that a request needs in addition to its own."""
    payload = request.headers.get(_PAYLOAD_HEADER, "")
    is_given = payload in _PAYLOADS
    signed = {
        name: value
        for name, value in request.headers.items()
        if name.startswith(_STORE_PREFIX) and name not in _MADE_HERE
    }
    unsigned = AWSRequest(request.method, request.url, headers=dict(signed))
    _ReadSignature(
        Credentials(keys.access_key_id, keys.secret_access_key, keys.session_token or None),
        region_of(location, request.region),
        payload if is_given else _UNSIGNED,
    ).add_auth(unsigned)
    added = {str(name): str(value) for name, value in unsigned.headers.items()}
    left_out = {*signed, _PAYLOAD_HEADER} if is_given else set(signed)
    return {name: value for name, value in added.items() if name.lower() not in left_out}


def region_of(location: StoreLocation, requested: str) -> str:
    """Return the region of a store; if its location names none, that of the request."""
    if location.region:
        return location.region
    return requested if _REGION.fullmatch(requested) else DEFAULT_REGION


class _ReadSignature(S3SigV4Auth):
    """Signs the caller's digest of the body; a read has no body."""

    def __init__(self, credentials: Credentials, region: str, payload: str) -> None:
        super().__init__(credentials, "s3", region)
        self._payload = payload

    def payload(self, request: AWSRequest) -> str:  # noqa: ARG002
        """Return the value of the header."""
        return self._payload


def _bases(location: StoreLocation, region: str) -> list[tuple[str, str, int, str]]:
    """Addresses of a store's base path: scheme, host, port, path with a slash at its end."""
    base = f"{location.path}/" if location.path else ""
    if location.endpoint:
        endpoint = urlsplit(location.endpoint)
        port = endpoint.port or _PORTS[endpoint.scheme]
        path = f"{unquote(endpoint.path)}/{location.bucket}/{base}"
        return [(endpoint.scheme, endpoint.hostname or "", port, path)]
    hosts = [f"s3.{region}.amazonaws.com"]
    if region == DEFAULT_REGION:
        hosts.append("s3.amazonaws.com")
    of_bucket = [("https", f"{location.bucket}.{host}", 443, f"/{base}") for host in hosts]
    return of_bucket + [("https", host, 443, f"/{location.bucket}/{base}") for host in hosts]
