"""Store location: the folder or bucket that holds a deployment's objects."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from segments.keys import has_control_characters, join_key


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """A folder or bucket: the same five fields as the contract's CloudBucket.

    provider is "file" or "s3"; a folder has only a path, absolute without its leading slash.
    """

    provider: str
    endpoint: str
    bucket: str
    region: str
    path: str

    @classmethod
    def from_url(cls, url: str) -> "StoreLocation":
        """Parse `file:///dir` or `s3://bucket/path?endpoint=...&region=...`; raises ValueError."""
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise ValueError(f"object store URL {url!r} cannot be parsed: {error}") from error
        if parts.fragment or parts.username or parts.password:
            # Not quoted: it may hold a secret.
            raise ValueError("the object store URL must hold no fragment and no credentials")
        path = unquote(parts.path).strip("/")
        if parts.scheme == "file":
            return _folder_location(url, parts.netloc, path, parts.query)
        if parts.scheme == "s3":
            return _s3_location(url, parts.netloc, path, parts.query)
        raise ValueError(
            f"object store URL {url!r} must start with file:/// (a folder) or s3:// (a bucket)"
        )

    def url(self) -> str:
        """The URL that `from_url` parses back to this location."""
        if self.provider == "file":
            return "file:///" + quote(self.path)
        options = {"endpoint": self.endpoint, "region": self.region}
        query = urlencode({name: value for name, value in options.items() if value})
        path = "/" + quote(self.path) if self.path else ""
        return f"s3://{self.bucket}{path}" + (f"?{query}" if query else "")


def _folder_location(url: str, host: str, path: str, query: str) -> StoreLocation:
    if host or not path or query:
        raise ValueError(f"object store URL {url!r} must name an absolute folder: file:///dir")
    if any(part in ("", ".", "..") for part in path.split("/")) or has_control_characters(path):
        raise ValueError(f"object store URL {url!r} must name a folder without '.' and '..'")
    return StoreLocation(provider="file", endpoint="", bucket="", region="", path=path)


def _s3_location(url: str, bucket: str, path: str, query: str) -> StoreLocation:
    options = parse_qs(query, keep_blank_values=True, strict_parsing=bool(query))
    unknown = set(options) - {"endpoint", "region"}
    if not bucket or unknown or any(len(values) > 1 for values in options.values()):
        raise ValueError(
            f"object store URL {url!r} must be s3://bucket/path with at most the options "
            "endpoint and region"
        )
    endpoint = options.get("endpoint", [""])[0].rstrip("/")
    if endpoint and not re.fullmatch(r"https?://[^/?#@\s]+(/[^?#\s]*)?", endpoint):
        raise ValueError("the object store's endpoint must be http://host or https://host")
    if path:
        join_key(path)
    return StoreLocation("s3", endpoint, bucket, options.get("region", [""])[0], path)
