"""Signed URLs of Google Cloud Storage, version 4."""

import threading
from datetime import timedelta
from typing import Any

from google.auth.credentials import AnonymousCredentials, Signing
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError
from google.auth.transport.requests import Request
from google.cloud import storage

from segments.errors import StoreUnavailable
from segments.location import StoreLocation
from segments.store.cloud.gcs import found_credentials
from segments.store.cloud.signature import SIGNED_SECS, CannotSign

# Without a key of its own an account signs by a call of IAM, which needs this scope.
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_NO_ACCOUNT = (
    "Google's libraries give it credentials of no service account: set"
    " GOOGLE_APPLICATION_CREDENTIALS to a file of one, or give the machine or workload one"
)


class GcsSigner:
    """Signs with the key of a service account, or by IAM for an account without a key here."""

    def __init__(self, location: StoreLocation) -> None:
        self._location = location
        try:
            self._credentials: Any = found_credentials(location, _SCOPES)
        except DefaultCredentialsError as error:
            raise CannotSign(_NO_ACCOUNT) from error
        client = storage.Client("unused", AnonymousCredentials())
        self._bucket = client.bucket(location.bucket)
        # Credentials that are refreshed by two threads at once make two calls.
        self._lock = threading.Lock()

    def sign(self, name: str, method: str) -> str:
        """Return the URL of an object."""
        try:
            url = self._bucket.blob(name).generate_signed_url(
                version="v4",
                method=method,
                expiration=timedelta(seconds=SIGNED_SECS),
                api_access_endpoint=self._location.endpoint or None,
                scheme="https",
                **self._signs_with(),
            )
        except GoogleAuthError as error:
            if "PERMISSION_DENIED" in str(error):
                raise CannotSign(
                    "its service account may not sign for itself: it needs the role"
                    " roles/iam.serviceAccountTokenCreator on itself"
                ) from error
            raise StoreUnavailable(f"Google signs no read: {error}") from error
        return str(url)

    def _signs_with(self) -> dict[str, Any]:
        credentials = self._credentials
        if isinstance(credentials, Signing):
            return {"credentials": credentials}
        if not getattr(credentials, "service_account_email", ""):
            raise CannotSign(_NO_ACCOUNT)
        with self._lock:
            if not credentials.valid:
                # A machine's account learns its name with its token.
                credentials.refresh(Request())
        return {
            "credentials": credentials,
            "service_account_email": credentials.service_account_email,
            "access_token": credentials.token,
        }
