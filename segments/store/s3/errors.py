"""Maps botocore's errors to the classes of `segments.errors`."""

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # Of botocore: connection refused, no TLS.
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
)
from botocore.parsers import ResponseParserError

from segments.errors import (
    ObjectExists,
    ObjectMissing,
    StoreError,
    StoreUnavailable,
    StoreUnusable,
)
from segments.location import StoreLocation
from segments.store.refusal_causes import brief, passing_cause
from segments.store.requests import WriteConflict

# Everything that a request can end in; ResponseParserError is not a BotoCoreError.
FAILURES = (ClientError, BotoCoreError, ResponseParserError)
# Answers that another try may change although their status does not say so.
_TRANSIENT = {
    "BadDigest",
    "IncompleteBody",
    "RequestTimeout",
    "SlowDown",
    "Throttling",
    "XAmzContentChecksumMismatch",
    "XAmzContentSHA256Mismatch",
}
_CREDENTIALS = {"ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"}
# A HEAD has no body and gives its status as the code.
_DENIED = _CREDENTIALS | {"AccessDenied", "Forbidden", "Unauthorized", "401", "403", ""}


def code_of(error: Exception) -> str:
    """S3's error code; a HEAD has no body and gives the status as text; "" without an answer."""
    return error.response["Error"].get("Code", "") if isinstance(error, ClientError) else ""


def is_transient(error: ClientError) -> bool:
    """True if a retry may succeed."""
    status = _status_of(error)
    is_busy = (status >= 500 and status != 501) or status in (408, 429)
    return is_busy or code_of(error) in _TRANSIENT or bool(passing_cause_of(error))


def passing_cause_of(error: ClientError) -> str:
    """Return why a refusal passes with time; "" if it does not."""
    if _status_of(error) not in (400, 401, 403) or code_of(error) == "ExpiredToken":
        return ""
    headers = error.response["ResponseMetadata"].get("HTTPHeaders", {})
    is_denied = _status_of(error) != 400 or code_of(error) in _CREDENTIALS
    date = headers.get("date", "") if is_denied else ""
    return passing_cause(code_of(error), message_of(error), date)


def message_of(error: ClientError) -> str:
    """The store's message, in one line."""
    return brief(error.response["Error"].get("Message") or "")


def refused(error: Exception, location: StoreLocation) -> StoreError:
    """Return the reaction of a caller: try again, call the operator, or neither."""
    where = f"bucket {location.bucket} at {location.endpoint or 'AWS'}"
    if isinstance(error, ClientError):
        return _answered(error, where)
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return StoreUnusable(
            f"no credentials for {where}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "AWS_PROFILE, or give the machine a role"
        )
    if isinstance(error, SSOError | TokenRetrievalError):
        return StoreUnusable(f"no credentials for {where}: {error}")
    if isinstance(error, ConnectionError | HTTPClientError | CredentialRetrievalError):
        return StoreUnavailable(
            f"{where} cannot be reached ({error}): start it or correct the object store URL"
        )
    return StoreUnavailable(f"{where} did not answer as it should: {error}")


def _answered(error: ClientError, where: str) -> StoreError:
    code, status = code_of(error), _status_of(error)
    if code == "NoSuchBucket" or (error.operation_name == "HeadBucket" and status == 404):
        return StoreUnusable(f"{where} does not exist: create it or correct the object store URL")
    # Some stores answer 304, as to a conditional read, and some send no body.
    if code == "PreconditionFailed" or status in (304, 412):
        return ObjectExists(f"{where} has the object")
    # Nothing was written because another write of the name was under way, or it was aborted.
    if code == "NoSuchUpload" or status == 409:
        return WriteConflict(f"{where} answered {code} to {error.operation_name}")
    if code in ("NoSuchKey", "404", "NotFound"):
        return ObjectMissing(f"{where} has no such object")
    if is_transient(error):
        cause = f": {cause}" if (cause := passing_cause_of(error)) else ""
        return StoreUnavailable(
            f"{where} answered {code or status} to {error.operation_name}{cause}"
        )
    if code in _CREDENTIALS or status in (401, 403):
        return _denied(error, where)
    if status in (301, 307) or code in ("PermanentRedirect", "AuthorizationHeaderMalformed"):
        return StoreUnusable(
            f"{where} is in another region: add ?region=... to the object store URL"
        )
    return StoreError(f"{where} refused {error.operation_name}: {error}")


def _denied(error: ClientError, where: str) -> StoreUnusable:
    code = code_of(error)
    said = f"{code}: {message}" if (message := message_of(error)) else code
    if code not in _DENIED:
        return StoreUnusable(
            f"{where} refused {error.operation_name} ({said}): check the account, the bucket "
            "and the rights of the keys"
        )
    return StoreUnusable(
        f"{where} refused the credentials for {error.operation_name} ({said}): check the keys "
        "and that they may read, write, list and delete"
    )


def _status_of(error: ClientError) -> int:
    status: int = error.response["ResponseMetadata"].get("HTTPStatusCode", 0)
    return status
