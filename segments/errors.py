"""Errors of objects and files, one class per reaction of the caller."""


class SegmentsError(Exception):
    """Something about an object or a file is not as expected."""


class StoreError(SegmentsError):
    """The object store refused or could not serve a request, and a repetition will not help."""


class ObjectExists(StoreError):
    """The key has an object already. Read it, or take another key."""


class ObjectMissing(StoreError):
    """The key has no object."""


class StoreUnavailable(StoreError):
    """The store did not answer; a write may or may not have happened. Try again."""


class StoreUnusable(StoreError):
    """The store cannot serve as it is configured; the message says what an operator must change."""


class CorruptObject(SegmentsError):
    """An object's bytes do not follow its format. Set it aside; reading again will not help."""


class TaskFailed(SegmentsError):
    """A task raised an error, or its process ended. The work of other tasks is not affected."""


class RunnerUnusable(SegmentsError):
    """No task can run as the machine is set up; the message says what an operator must change."""


class RunnerDied(SegmentsError):
    """No task can be run in this process any more: end it, and start it again."""


class ReleaseChanged(RunnerDied):
    """Another release is installed than this process runs; it would misread tasks."""

    def __init__(self) -> None:
        super().__init__("another release was installed: start this process again")
