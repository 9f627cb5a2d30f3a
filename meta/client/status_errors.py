"""Errors rebuilt from the status that a server answered."""

from meta.errors import (
    Code,
    DeadlineExceeded,
    InvalidArgument,
    MetaError,
    NotFound,
    Overloaded,
    RaceLost,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)


def _all_classes(root: type[MetaError]) -> list[type[MetaError]]:
    return [root, *(c for sub in root.__subclasses__() for c in _all_classes(sub))]


BY_REASON: dict[str, type[MetaError]] = {c.reason: c for c in _all_classes(MetaError)}


def from_status(
    code: int, reason: str, message: str, metadata: dict[str, str], field: str = ""
) -> MetaError:
    """Rebuild the error a server raised; an unknown reason becomes the class of its code."""
    error_class = BY_REASON.get(reason) or _class_of_code(code)
    # __init__ is skipped, because the constructors of the classes differ in their parameters.
    error = error_class.__new__(error_class)
    MetaError.__init__(error, message)
    error.metadata = dict(metadata)
    if isinstance(error, InvalidArgument):
        error.field = field
    return error


def _class_of_code(code: int) -> type[MetaError]:
    by_code = {
        Code.INVALID_ARGUMENT.value: InvalidArgument,
        Code.NOT_FOUND.value: NotFound,
        Code.UNAVAILABLE.value: Unavailable,
        Code.UNIMPLEMENTED.value: Unimplemented,
        Code.DEADLINE_EXCEEDED.value: DeadlineExceeded,
        Code.UNAUTHENTICATED.value: Unauthenticated,
        Code.RESOURCE_EXHAUSTED.value: Overloaded,
        Code.ABORTED.value: RaceLost,
    }
    return by_code.get(code, MetaError)
