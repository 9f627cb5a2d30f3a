"""Store location: the folder or bucket that holds a deployment's objects."""

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlencode, urlsplit

from segments.keys import has_control_characters, join_key


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """A folder or bucket: the same five fields as the contract's CloudBucket.

    provider is "file", "s3", "gcs" or "azure". A folder has only a path, absolute without its
    leading slash; a container of Azure always has the endpoint of its account.
    """

    provider: str
    endpoint: str
    bucket: str
    region: str
    path: str

    @classmethod
    def from_url(cls, url: str) -> "StoreLocation":
        """Parse `file:///dir` or `s3://bucket/path?endpoint=...&region=...`; raises ValueError.

        `gs://bucket/path` and `az://container/path?account=NAME` are the other clouds.
        """
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise ValueError(f"object store URL {url!r} cannot be parsed: {error}") from error
        if parts.fragment or parts.username or parts.password:
            # The URL is not quoted, because it may hold a secret.
            raise ValueError("the object store URL must hold no fragment and no credentials")
        path = unquote(parts.path).strip("/")
        if parts.scheme == "file":
            return _folder_location(url, parts.netloc, path, parts.query)
        if parts.scheme in _CLOUDS:
            return _cloud_location(url, _CLOUDS[parts.scheme], parts, path)
        raise ValueError(
            f"object store URL {url!r} must start with file:/// (a folder), s3://, gs:// or az://"
        )

    @property
    def root(self) -> str:
        """The URL of the base path as query engines write it: not quoted, no slash at its end."""
        if self.provider == "file":
            return f"file:///{self.path}"
        if account := _account_of(self.endpoint) if self.provider == "azure" else "":
            base = f"abfss://{self.bucket}@{account}.dfs.core.windows.net"
        else:
            base = f"{_scheme_of(self.provider)}://{self.bucket}"
        return f"{base}/{self.path}" if self.path else base

    def url(self) -> str:
        """The URL that `from_url` parses back to this location."""
        if self.provider == "file":
            return "file:///" + quote(self.path)
        options = {"endpoint": self.endpoint, "region": self.region}
        if account := _account_of(self.endpoint) if self.provider == "azure" else "":
            options = {"account": account}
        query = urlencode({name: value for name, value in options.items() if value})
        path = "/" + quote(self.path) if self.path else ""
        scheme = _scheme_of(self.provider)
        return f"{scheme}://{self.bucket}{path}" + (f"?{query}" if query else "")


@dataclass(frozen=True, slots=True)
class _Cloud:
    """The form of URLs of a provider's buckets."""

    scheme: str
    provider: str
    bucket: str
    options: tuple[str, ...]


_CLOUDS = {
    cloud.scheme: cloud
    for cloud in (
        _Cloud("s3", "s3", "bucket", ("endpoint", "region")),
        _Cloud("gs", "gcs", "bucket", ("endpoint",)),
        _Cloud("az", "azure", "container", ("account", "endpoint")),
    )
}
_AZURE_HOST = ".blob.core.windows.net"


def _scheme_of(provider: str) -> str:
    """The scheme of a provider's URLs; one that is not known yet keeps its name."""
    schemes = {cloud.provider: cloud.scheme for cloud in _CLOUDS.values()}
    return schemes.get(provider, provider)


def _folder_location(url: str, host: str, path: str, query: str) -> StoreLocation:
    if host or not path or query:
        raise ValueError(f"object store URL {url!r} must name an absolute folder: file:///dir")
    if any(part in ("", ".", "..") for part in path.split("/")) or has_control_characters(path):
        raise ValueError(f"object store URL {url!r} must name a folder without '.' and '..'")
    return StoreLocation(provider="file", endpoint="", bucket="", region="", path=path)


def _cloud_location(url: str, cloud: _Cloud, parts: SplitResult, path: str) -> StoreLocation:
    query = parts.query
    options = parse_qs(query, keep_blank_values=True, strict_parsing=bool(query))
    unknown = set(options) - set(cloud.options)
    if not parts.netloc or unknown or any(len(values) > 1 for values in options.values()):
        raise ValueError(
            f"object store URL {url!r} must be {cloud.scheme}://{cloud.bucket}/path with at most "
            f"the options {' and '.join(cloud.options)}"
        )
    given = {name: values[0] for name, values in options.items()}
    endpoint = given.get("endpoint", "").rstrip("/")
    if endpoint and not re.fullmatch(r"https?://[^/?#@\s]+(/[^?#\s]*)?", endpoint):
        raise ValueError("the object store's endpoint must be http://host or https://host")
    if cloud.provider == "azure":
        endpoint = _azure_endpoint(url, given.get("account", ""), endpoint)
    if path:
        join_key(path)
    return StoreLocation(cloud.provider, endpoint, parts.netloc, given.get("region", ""), path)


def _azure_endpoint(url: str, account: str, endpoint: str) -> str:
    if bool(account) == bool(endpoint):
        raise ValueError(
            f"object store URL {url!r} must have one of the options account and endpoint"
        )
    if account and not re.fullmatch(r"[a-z0-9]{3,24}", account):
        raise ValueError("the account must be 3 to 24 lower-case letters and digits")
    return endpoint or f"https://{account}{_AZURE_HOST}"


def _account_of(endpoint: str) -> str:
    """The account whose usual endpoint this is, or nothing."""
    account = endpoint.removeprefix("https://").removesuffix(_AZURE_HOST)
    return account if endpoint == f"https://{account}{_AZURE_HOST}" else ""
