"""Requests of Google Cloud Storage, by google-cloud-storage."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any, BinaryIO

import google.auth
from google.api_core.exceptions import GoogleAPICallError
from google.auth.credentials import AnonymousCredentials, with_scopes_if_required
from google.auth.exceptions import (
    DefaultCredentialsError,
    GoogleAuthError,
    OAuthError,
    RefreshError,
    TransportError,
)
from google.auth.transport.requests import AuthorizedSession
from google.cloud import storage
from google.cloud.storage.exceptions import DataCorruption, InvalidResponse
from requests.adapters import HTTPAdapter
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from segments.errors import (
    ObjectExists,
    ObjectMissing,
    StoreError,
    StoreUnavailable,
    StoreUnusable,
)
from segments.location import StoreLocation
from segments.store import credentials
from segments.store.lifecycle import gcs_rules
from segments.store.refusal_causes import brief, passing_cause
from segments.store.requests import BucketRules, ListedObject, StoredBody, nanos_of
from segments.store.timeouts import RequestTimeouts
from segments.store.upload_body import CRC_NAME, PART_BYTES, UploadBody

_PAGE_MAX = 1_000
_CONNECTIONS_MAX = 32
_SCOPES = ("https://www.googleapis.com/auth/devstorage.read_write",)
_UNSATISFIABLE = 416
# A body that breaks off is an error of urllib3, and one that is too short one of Python.
_NO_ANSWER = (
    GoogleAuthError,
    RequestException,
    HTTPError,
    ConnectionError,
    DataCorruption,
    InvalidResponse,
)


class GcsRequests:
    """A bucket of Google Cloud Storage.

    Credentials are those that Google's libraries find: a file that GOOGLE_APPLICATION_CREDENTIALS
    names, or the identity of the machine or of the workload. None go to an endpoint without TLS.
    """

    deletes_max = 1

    def __init__(self, location: StoreLocation, timeouts: RequestTimeouts) -> None:
        self._location = location
        self._timeouts = timeouts
        self._dates = threading.local()
        with self._errors("credentials"):
            session = AuthorizedSession(_credentials(location))
        session.verify = credentials.ca_file() or True
        for scheme in ("https://", "http://"):
            session.mount(scheme, HTTPAdapter(pool_maxsize=_CONNECTIONS_MAX))
        session.hooks["response"].append(self._keep_date)
        options = {"api_endpoint": location.endpoint} if location.endpoint else None
        self._client = storage.Client(
            None, session.credentials, _http=session, client_options=options
        )
        self._bucket = self._client.bucket(location.bucket)

    def put(self, name: str, content: UploadBody) -> None:
        """Write an object in one request unless there is one."""
        self._upload(name, content, content.size_bytes)

    def put_parts(self, name: str, content: UploadBody) -> None:
        """Write an object by a resumable upload unless there is one."""
        # Without a size the library begins an upload of several requests.
        self._upload(name, content, None)

    def read(self, name: str) -> StoredBody:
        """Read an object; the library checks it against the store's own checksum."""
        with self._errors("read"):
            body = self._blob(name).download_as_bytes(
                raw_download=True, checksum="crc32c", retry=None, timeout=self._secs
            )
        return StoredBody(body)

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Read bytes, none if the object ends before start."""
        with self._errors("read"):
            try:
                return bytes(
                    self._blob(name).download_as_bytes(
                        start=start,
                        end=start + length - 1,
                        raw_download=True,
                        checksum=None,
                        retry=None,
                        timeout=self._secs,
                    )
                )
            except GoogleAPICallError as error:
                if error.code == _UNSATISFIABLE:
                    return b""
                raise

    def stat(self, name: str) -> ListedObject:
        """Read an object's size and time."""
        blob = self._blob(name)
        with self._errors("stat"):
            blob.reload(retry=None, timeout=self._secs)
        return _stored(blob)

    def page(self, prefix: str, start: str, token: str) -> tuple[Sequence[ListedObject], str]:
        """List names from `start` on, in the order of their bytes; a token is a name too."""
        with self._errors("list", is_bucket=True):
            names = self._client.list_blobs(
                self._bucket,
                prefix=prefix or None,
                start_offset=token or start or None,
                page_size=_PAGE_MAX,
                fields="items(name,size,updated),nextPageToken",
                retry=None,
                timeout=self._secs,
            )
            # A page may be empty and others follow.
            blobs = next(filter(None, map(list, names.pages)), [])
        page = [_stored(blob) for blob in blobs]
        return page, page[-1].name if page and names.next_page_token else ""

    def delete(self, names: Sequence[str]) -> None:
        """Delete an object; an absent one is fine."""
        (name,) = names
        try:
            with self._errors("delete"):
                self._blob(name).delete(retry=None, timeout=self._secs)
        except ObjectMissing:
            pass

    def abort_stale_uploads(self, prefix: str, started_before_nanos: int) -> int:  # noqa: ARG002
        """Drop nothing: the store drops unfinished uploads by itself, after a week."""
        return 0

    def now_nanos(self) -> int:
        """The server's clock, from the date of a short listing."""
        with self._errors("list", is_bucket=True):
            names = self._client.list_blobs(
                self._bucket, prefix="probe/", page_size=1, retry=None, timeout=self._secs
            )
            next(names.pages, None)
        return nanos_of(parsedate_to_datetime(self._dates.last))

    def rules(self) -> BucketRules:
        """The rules of the bucket, whose description not every role may read."""
        with self._errors("get", is_bucket=True):
            bucket = self._client.get_bucket(self._location.bucket, retry=None, timeout=self._secs)
        rules = [
            (rule.get("action", {}), rule.get("condition", {})) for rule in bucket.lifecycle_rules
        ]
        deleting = [condition for action, condition in rules if action.get("type") == "Delete"]
        return gcs_rules(bool(bucket.versioning_enabled), deleting, self._location.path)

    @property
    def _secs(self) -> tuple[float, float]:
        return self._timeouts.connect_secs, self._timeouts.silence_secs

    def _blob(self, name: str) -> Any:
        return self._bucket.blob(name)

    def _upload(self, name: str, content: UploadBody, size_bytes: int | None) -> None:
        # A blob with a size of chunks would also be read in chunks, and those without a checksum.
        blob = self._bucket.blob(name, chunk_size=PART_BYTES)
        blob.metadata = {CRC_NAME: content.crc()}
        source: BinaryIO
        with content.open() as source, self._errors("write"):
            blob.upload_from_file(
                source,
                size=size_bytes,
                if_generation_match=0,
                checksum="crc32c",
                retry=None,
                timeout=self._secs,
            )

    def _keep_date(self, response: Any, *_: Any, **__: Any) -> None:
        self._dates.last = response.headers.get("Date", "")

    @contextmanager
    def _errors(self, operation: str, *, is_bucket: bool = False) -> Iterator[None]:
        """Raise the failures of a request as those of a store."""
        where = f"bucket {self._location.bucket} at {self._location.endpoint or 'Google Cloud'}"
        try:
            yield
        except DefaultCredentialsError as error:
            raise StoreUnusable(
                f"no credentials for {where}: set GOOGLE_APPLICATION_CREDENTIALS to a file, "
                f"or give the machine or workload an identity ({error})"
            ) from error
        except GoogleAPICallError as error:
            raise _answered(error, where, operation, is_bucket=is_bucket) from error
        except _NO_ANSWER as error:
            if cause := passing_cause("", str(error)):
                raise StoreUnavailable(f"Google refused access to {where}: {cause}") from error
            if _is_refusal(error):
                raise StoreUnusable(
                    f"Google refused the credentials for {where}: check their file or identity "
                    f"({' '.join(str(error).split())})"
                ) from error
            raise StoreUnavailable(f"{where} does not answer as it should: {error}") from error


def _credentials(location: StoreLocation) -> Any:
    if location.endpoint.startswith("http://"):
        return AnonymousCredentials()
    return found_credentials(location, _SCOPES)


def found_credentials(location: StoreLocation, scopes: Sequence[str]) -> Any:
    """The credentials of a bucket's own file, or else those that Google's libraries find."""
    # With scopes the library would ask Google for the name of a workload's project, which nothing
    # needs and a network without a way to that service does not answer.
    if path := credentials.file_of(location):
        loaded = google.auth.load_credentials_from_file(str(path))[0]
    else:
        loaded = google.auth.default()[0]
    return with_scopes_if_required(loaded, list(scopes))


def _is_refusal(error: Exception) -> bool:
    """Whether a token server said no, rather than nothing."""
    if isinstance(error, OAuthError):
        # An answer without a code of OAuth is of a server that is out of order.
        return str(error.args[0]).startswith("Error code")
    if not isinstance(error, RefreshError) or error.retryable:
        return False
    # Without an answer of the machine's token server the library says so too.
    return not isinstance(error.args[0] if error.args else None, TransportError)


def _stored(blob: Any) -> ListedObject:
    return ListedObject(blob.name, blob.size, nanos_of(blob.updated))


def _answered(
    error: GoogleAPICallError, where: str, operation: str, *, is_bucket: bool
) -> StoreError:
    status = error.code or 0
    if status == 404:
        if is_bucket:
            return StoreUnusable(f"{where} does not exist: create it or correct the URL")
        return ObjectMissing(f"{where} has no such object")
    if status in (304, 412):
        return ObjectExists(f"{where} has the object")
    if status in (401, 403):
        if cause := passing_cause(*_reason_and_message(error), _date_of(error.response)):
            return StoreUnavailable(f"{where} refused to {operation}: {cause}")
        return StoreUnusable(
            f"{where} refused the credentials to {operation}: check that they may read, write, "
            f"list and delete ({error.message})"
        )
    is_damaged = status == 400 and "CRC32C" in str(error.message)
    if is_damaged or status in (408, 409, 429) or (status >= 500 and status != 501):
        return StoreUnavailable(f"{where} answered {status} to {operation}")
    return StoreError(f"{where} refused to {operation}: {error.message}")


def _reason_and_message(error: GoogleAPICallError) -> tuple[str, str]:
    reasons = (str(item.get("reason", "")) for item in error.errors if isinstance(item, dict))
    return " ".join(reasons), brief(str(error.message))


def _date_of(response: Any) -> str:
    return "" if response is None else str(response.headers.get("Date", ""))
