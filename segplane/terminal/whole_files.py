"""Files that are there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from uuid import uuid4


@contextmanager
def whole_file(path: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Open a file that takes its name once it is complete, in place of one that has it."""
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(unfinished, flags, mode), "wb") as output:
            yield output
            output.flush()
            os.fsync(output.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
