"""The gRPC status codes of meta's refusals; no grpc in here."""

from enum import Enum


class Code(Enum):
    """The gRPC status codes that meta answers with, by number."""

    INVALID_ARGUMENT = 3
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DEADLINE_EXCEEDED = 4
    UNAUTHENTICATED = 16
    CANCELLED = 1
