"""Shared access signatures of Azure Blob Storage, each of one blob and for reading alone."""

import os
import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError
from azure.identity import DefaultAzureCredential
from azure.storage.blob import BlobSasPermissions, BlobServiceClient, generate_blob_sas

from segments.errors import StoreUnavailable
from segments.location import StoreLocation
from segments.store import credentials
from segments.store.cloud.signature import SIGNED_SECS, CannotSign

# A delegation key signs for as long as it is valid, and a call of Azure makes one.
_KEY_SPAN = timedelta(hours=6)
_REFUSED = (401, 403)


class AzureSigner:
    """Signs with the account's key, or for an identity with a user delegation key."""

    def __init__(self, location: StoreLocation) -> None:
        self._location = location
        configured = credentials.text_of(location)
        if configured is not None and "sig=" in configured:
            raise CannotSign(
                f"the file of {credentials.setting_of(location)} holds a signature itself"
            )
        self._account_key = configured or os.environ.get("AZURE_STORAGE_KEY", "")
        if not self._account_key and os.environ.get("AZURE_STORAGE_SAS_TOKEN"):
            raise CannotSign(
                "AZURE_STORAGE_SAS_TOKEN is a signature itself: set AZURE_STORAGE_KEY, or give the"
                " gateway an identity with the role Storage Blob Delegator"
            )
        credential = self._account_key or DefaultAzureCredential()
        self._service = BlobServiceClient(
            location.endpoint,
            credential=credential,
            retry_total=0,
            connection_verify=credentials.ca_file() or True,
        )
        if not self._service.account_name:
            raise CannotSign(
                f"the endpoint {location.endpoint} names no account: use the option account"
            )
        self._lock = threading.Lock()
        self._delegated: Any = None
        self._delegated_until = datetime.min.replace(tzinfo=UTC)

    def sign(self, name: str, method: str) -> str:  # noqa: ARG002 - a signature is for both methods
        """Return the URL of an object."""
        expiry = datetime.now(UTC) + timedelta(seconds=SIGNED_SECS)
        is_secure = self._location.endpoint.startswith("https://")
        key: dict[str, Any] = (
            {"account_key": self._account_key}
            if self._account_key
            else {"user_delegation_key": self._delegation_key(expiry)}
        )
        signature = generate_blob_sas(
            str(self._service.account_name),
            self._location.bucket,
            name,
            permission=BlobSasPermissions(read=True),
            expiry=expiry,
            protocol="https" if is_secure else "https,http",
            **key,
        )
        return f"{self._location.endpoint}/{self._location.bucket}/{quote(name)}?{signature}"

    def _delegation_key(self, needed_until: datetime) -> Any:
        with self._lock:
            if self._delegated_until < needed_until:
                now = datetime.now(UTC)
                try:
                    self._delegated = self._service.get_user_delegation_key(now, now + _KEY_SPAN)
                except AzureError as error:
                    raise _failed(error) from error
                self._delegated_until = now + _KEY_SPAN
            return self._delegated


def _failed(error: AzureError) -> Exception:
    status = error.status_code if isinstance(error, HttpResponseError) else 0
    if isinstance(error, ClientAuthenticationError) or status in _REFUSED:
        return CannotSign(
            f"Azure gives its identity no key to sign with ({error.message}): it needs the role"
            " Storage Blob Delegator on the account"
        )
    return StoreUnavailable(f"Azure gives no key to sign with: {error.message}")
