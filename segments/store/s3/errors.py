"""Maps botocore's errors to the classes of `segments.errors`."""

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # Of botocore: connection refused, no TLS.
    CredentialRetrievalError,
    FlexibleChecksumError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    PartialCredentialsError,
)
from botocore.parsers import ResponseParserError

from segments.errors import StoreError, StoreUnavailable, StoreUnusable
from segments.location import StoreLocation
from segments.store.refusal_causes import brief, passing_cause


class BrokenAnswer(Exception):
    """The store answered with other bytes than those requested, or with fewer."""


# Everything that a request can end in; ResponseParserError is no BotoCoreError.
Failure = ClientError | BotoCoreError | ResponseParserError | BrokenAnswer
FAILURES = (ClientError, BotoCoreError, ResponseParserError, BrokenAnswer)

_NO_ANSWER = (
    BrokenAnswer,
    ConnectionError,
    CredentialRetrievalError,
    FlexibleChecksumError,
    HTTPClientError,
    IncompleteReadError,
    ResponseParserError,
)
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


def code_of(error: Failure) -> str:
    """S3's error code; a HEAD has no body and gives the status as text; "" without an answer."""
    return error.response["Error"].get("Code", "") if isinstance(error, ClientError) else ""


def is_missing(error: Failure) -> bool:
    """True if the response says that no object has this key."""
    return code_of(error) in ("NoSuchKey", "404", "NotFound")


def is_conflict(error: Failure) -> bool:
    """True if the store did nothing because another request for the same key was under way."""
    return isinstance(error, ClientError) and _status_of(error) == 409


def is_present(error: Failure) -> bool:
    """True if a conditional write was refused because the key has an object."""
    # Some stores answer 304, as to a conditional read, and some send no body.
    return code_of(error) == "PreconditionFailed" or (
        isinstance(error, ClientError) and _status_of(error) in (304, 412)
    )


def is_transient(error: Failure) -> bool:
    """True if a retry may succeed."""
    if not isinstance(error, ClientError):
        return isinstance(error, _NO_ANSWER)
    status = _status_of(error)
    is_busy = (status >= 500 and status != 501) or status in (408, 409, 429)
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


def refused(error: Failure, location: StoreLocation, *, is_probe: bool = False) -> StoreError:
    """Return the reaction of a caller: try again, call the operator, or neither."""
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
    if isinstance(error, ConnectionError | HTTPClientError | CredentialRetrievalError):
        return StoreUnavailable(f"{where} does not answer: {error}")
    return StoreUnavailable(f"{where} did not answer as it should: {error}")


def _answered(error: ClientError, where: str) -> StoreError:
    code, status = code_of(error), _status_of(error)
    if code == "NoSuchBucket" or (error.operation_name == "HeadBucket" and status == 404):
        return StoreUnusable(f"{where} does not exist: create it or correct the object store URL")
    if cause := passing_cause_of(error):
        return StoreUnavailable(f"{where} refused {error.operation_name} ({code}): {cause}")
    if code in _CREDENTIALS or status in (401, 403):
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
    if status in (301, 307) or code in ("PermanentRedirect", "AuthorizationHeaderMalformed"):
        return StoreUnusable(
            f"{where} is in another region: add ?region=... to the object store URL"
        )
    if is_transient(error):
        return StoreUnavailable(f"{where} answered {code or status} to {error.operation_name}")
    return StoreError(f"{where} refused {error.operation_name}: {error}")


def _status_of(error: ClientError) -> int:
    status: int = error.response["ResponseMetadata"].get("HTTPStatusCode", 0)
    return status
