"""Requests of Azure Blob Storage, by azure-storage-blob."""

import logging
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError
from azure.identity import DefaultAzureCredential
from azure.storage.blob import BlobBlock, ContainerClient

from segments.errors import (
    ObjectExists,
    ObjectMissing,
    StoreError,
    StoreUnavailable,
    StoreUnusable,
)
from segments.location import StoreLocation
from segments.store import credentials
from segments.store.refusal_causes import brief, passing_cause
from segments.store.requests import ListedObject, StoredBody, WriteConflict, nanos_of
from segments.store.timeouts import RequestTimeouts
from segments.store.upload_body import CRC_NAME, PART_BYTES, UploadBody

_PAGE_MAX = 1_000
_UNSATISFIABLE = 416
_WHOLE_BYTES = 1 << 40  # The library divides longer reads.
_WHERE_KEYS = "set AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN"
_IN_THE_WAY = ("BlobAlreadyExists", "ConditionNotMet", "TargetConditionNotMet")


class AzureRequests:
    """A container of Azure Blob Storage.

    Credentials are AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or else those that Azure's
    libraries find: a service principal, the identity of the workload or of the machine.
    """

    deletes_max = 1

    def __init__(self, location: StoreLocation, timeouts: RequestTimeouts) -> None:
        self._location = location
        # Otherwise each request writes a line to the log of every process.
        logging.getLogger("azure").setLevel(logging.WARNING)
        logging.getLogger("azure.identity").setLevel(logging.ERROR)
        self._client = ContainerClient(
            location.endpoint,
            location.bucket,
            credential=_credential(location),
            retry_total=0,
            connection_timeout=timeouts.connect_secs,
            read_timeout=timeouts.silence_secs,
            connection_verify=credentials.ca_file() or True,
            max_single_put_size=PART_BYTES,
            max_single_get_size=_WHOLE_BYTES,
        )

    def put(self, name: str, content: UploadBody) -> None:
        """Write an object in one request unless there is one."""
        with content.open() as source, self._errors("write"):
            self._client.get_blob_client(name).upload_blob(
                source.read(),
                overwrite=False,
                validate_content=True,
                metadata={CRC_NAME: content.crc()},
            )

    def put_parts(self, name: str, content: UploadBody) -> None:
        """Write an object in blocks, and name them unless there is one."""
        blob = self._client.get_blob_client(name)
        # Blocks of all writers of a name lie in one place: no writer may take another's.
        upload, blocks = uuid.uuid4().hex, []
        with self._errors("write"):
            for number, part in enumerate(content.parts()):
                block = f"{upload}{number:06d}"
                blob.stage_block(block, part, validate_content=True)
                blocks.append(BlobBlock(block))
            blob.commit_block_list(
                blocks,
                match_condition=MatchConditions.IfMissing,
                metadata={CRC_NAME: content.crc()},
            )

    def read(self, name: str) -> StoredBody:
        """Read an object and its checksum."""
        with self._errors("read"):
            reply = self._client.download_blob(name)
            body = reply.readall()
        return StoredBody(body, (reply.properties.metadata or {}).get(CRC_NAME))

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Read bytes, none if the object ends before start."""
        with self._errors("read"):
            try:
                return bytes(
                    self._client.download_blob(name, offset=start, length=length).readall()
                )
            except HttpResponseError as error:
                if error.status_code == _UNSATISFIABLE:
                    return b""
                raise

    def stat(self, name: str) -> ListedObject:
        """Read an object's size and time."""
        with self._errors("stat"):
            return _stored(self._client.get_blob_client(name).get_blob_properties())

    def page(self, prefix: str, start: str, token: str) -> tuple[Sequence[ListedObject], str]:
        """List names from `start` on, in order; a token is a name too."""
        start = token or start
        options: dict[str, Any] = {"start_from": start} if start else {}
        with self._errors("list", is_bucket=True):
            pages: Any = self._client.list_blobs(
                name_starts_with=prefix or None, results_per_page=_PAGE_MAX, **options
            ).by_page()
            # A page may be empty and others follow.
            blobs = next(filter(None, map(list, pages)), [])
        page = [_stored(blob) for blob in blobs]
        return page, page[-1].name if page and pages.continuation_token else ""

    def delete(self, names: Sequence[str]) -> None:
        """Delete an object and its snapshots; an absent one is fine."""
        (name,) = names
        try:
            with self._errors("delete"):
                self._client.delete_blob(name, delete_snapshots="include")
        except ObjectMissing:
            pass

    def abort_stale_uploads(self, prefix: str, started_before_nanos: int) -> int:  # noqa: ARG002
        """Drop nothing: the store drops unfinished uploads by itself, after a week."""
        return 0

    def now_nanos(self) -> int:
        """The server's clock, from the date of a short listing."""
        dates: list[str] = []

        def keep_date(response: Any) -> None:
            dates.append(response.http_response.headers.get("Date", ""))

        with self._errors("list", is_bucket=True):
            pages = self._client.list_blobs(
                name_starts_with="probe/", results_per_page=1, raw_response_hook=keep_date
            ).by_page()
            next(pages, None)
        return nanos_of(parsedate_to_datetime(dates[-1]))

    @contextmanager
    def _errors(self, operation: str, *, is_bucket: bool = False) -> Iterator[None]:
        """Raise the failures of a request as those of a store."""
        where = f"container {self._location.bucket} at {self._location.endpoint}"
        try:
            yield
        except HttpResponseError as error:
            raise _answered(error, where, operation, is_bucket=is_bucket) from error
        except AzureError as error:
            raise StoreUnavailable(f"{where} does not answer as it should: {error}") from error


def _credential(location: StoreLocation) -> Any:
    if configured := credentials.text_of(location):
        return configured
    given = os.environ.get("AZURE_STORAGE_KEY") or os.environ.get("AZURE_STORAGE_SAS_TOKEN")
    if not given and location.endpoint.startswith("http://"):
        raise StoreUnusable(
            f"no credentials for container {location.bucket} at {location.endpoint}: {_WHERE_KEYS};"
            " an identity is sent to an endpoint with https alone"
        )
    return given or DefaultAzureCredential()


def _stored(blob: Any) -> ListedObject:
    return ListedObject(blob.name, blob.size, nanos_of(blob.last_modified))


def _answered(
    error: HttpResponseError, where: str, operation: str, *, is_bucket: bool
) -> StoreError:
    status, code = error.status_code or 0, getattr(error, "error_code", None) or ""
    if status == 404:
        if is_bucket or code == "ContainerNotFound":
            return StoreUnusable(f"{where} does not exist: create it or correct the URL")
        return ObjectMissing(f"{where} has no such object")
    if code in _IN_THE_WAY or status in (304, 412):
        return ObjectExists(f"{where} has the object")
    if code == "InvalidBlockList" or status == 409:
        return WriteConflict(f"{where} answered {code} to {operation}")
    if isinstance(error, ClientAuthenticationError) and not status:
        return StoreUnusable(
            f"no credentials for {where}: {_WHERE_KEYS}, or give the machine or workload an "
            f"identity ({' '.join(str(error.message).split())})"
        )
    if isinstance(error, ClientAuthenticationError) or status in (401, 403):
        return _denied(error, where, operation)
    is_broken = status < 300 or code == "Md5Mismatch"
    if is_broken or status in (408, 429) or (status >= 500 and status != 501):
        return StoreUnavailable(f"{where} answered {code or status} to {operation}")
    return StoreError(f"{where} refused to {operation}: {code} {error.message}")


def _denied(error: HttpResponseError, where: str, operation: str) -> StoreError:
    code, response = getattr(error, "error_code", None) or "", error.response
    date = getattr(response, "headers", {}).get("Date", "")
    if cause := passing_cause(str(code), brief(str(error.message)), date):
        return StoreUnavailable(f"{where} refused to {operation} ({code}): {cause}")
    return StoreUnusable(
        f"{where} refused the credentials to {operation} ({code or error.message}): check that "
        "they may read, write, list and delete"
    )
