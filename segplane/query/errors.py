"""Errors and warnings of queries, each one line that says what to do."""


class QueryError(Exception):
    """A query cannot be run as asked; `excerpt` is its line with a caret, or empty."""

    def __init__(self, message: str, excerpt: str = "") -> None:
        super().__init__(" ".join(message.split()))
        self.excerpt = excerpt


class QueryStopped(QueryError):
    """A query took longer or more than it was allowed, or was interrupted."""


class QueryWarning(UserWarning):
    """A query runs as it is written, which is probably not what was meant."""
