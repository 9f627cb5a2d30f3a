"""The number of examples of a property test."""

import os

# `make test-slow` sets it.
ALL_EXAMPLES = "ALL_EXAMPLES"


def examples(most: int) -> int:
    """A quarter of `most` examples, or all of them where the environment asks for a deep run."""
    return most if os.environ.get(ALL_EXAMPLES) else -(-most // 4)
