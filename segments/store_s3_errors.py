"""What botocore raises, as the classes of `segments.errors`."""

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
)

from segments.errors import StoreError, StoreUnavailable, StoreUnusable
from segments.keys import StoreLocation

_TRANSIENT = {
    "BadDigest",
    "InternalError",
    "OperationAborted",
    "RequestTimeout",
    "SlowDown",
    "Throttling",
    "XAmzContentSHA256Mismatch",
}
_CREDENTIALS = {"ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"}


def code_of(error: ClientError | BotoCoreError) -> str:
    """S3's error code; a HEAD has no body and gives the status as text; "" without an answer."""
    return error.response["Error"].get("Code", "") if isinstance(error, ClientError) else ""


def is_missing(error: ClientError | BotoCoreError) -> bool:
    """Whether the answer says that no object has this key."""
    return code_of(error) in ("NoSuchKey", "404", "NotFound")


def was_repeated(error: ClientError) -> bool:
    """Whether botocore had sent the request before, so that an earlier try may have won."""
    return error.response["ResponseMetadata"].get("RetryAttempts", 0) > 0


def refused(
    error: ClientError | BotoCoreError, location: StoreLocation, *, is_probe: bool = False
) -> StoreError:
    """Say how a caller can react: try again, call the operator, or neither."""
    where = f"bucket {location.bucket} at {location.endpoint or 'AWS'}"
    if isinstance(error, ClientError):
        return _answered(error, where)
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return StoreUnusable(
            f"no credentials for {where}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "AWS_PROFILE, or give the machine a role"
        )
    if is_probe:
        return StoreUnusable(
            f"{where} cannot be reached ({error}): start it or correct the object store URL"
        )
    if isinstance(error, HTTPClientError | CredentialRetrievalError):
        return StoreUnavailable(f"{where} does not answer: {error}")
    return StoreUnavailable(f"reading from {where} failed: {error}")


def _answered(error: ClientError, where: str) -> StoreError:
    code = code_of(error)
    status: int = error.response["ResponseMetadata"].get("HTTPStatusCode", 0)
    if code == "NoSuchBucket" or (error.operation_name == "HeadBucket" and status == 404):
        return StoreUnusable(f"{where} does not exist: create it or correct the object store URL")
    if code in _CREDENTIALS or status in (401, 403):
        return StoreUnusable(
            f"{where} refused the credentials for {error.operation_name} ({code}): check the keys "
            "and that they may read, write, list and delete"
        )
    if status in (301, 307) or code in ("PermanentRedirect", "AuthorizationHeaderMalformed"):
        return StoreUnusable(
            f"{where} is in another region: add ?region=... to the object store URL"
        )
    if status >= 500 or status in (408, 429) or code in _TRANSIENT:
        return StoreUnavailable(f"{where} answered {code or status} to {error.operation_name}")
    return StoreError(f"{where} refused {error.operation_name}: {error}")
