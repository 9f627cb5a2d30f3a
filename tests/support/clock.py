"""A clock for tests of code that takes a function of time."""


class SettableClock:
    """A clock that a test sets; it starts at `now` seconds."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the current time in seconds."""
        return self.now
