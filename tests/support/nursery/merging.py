"""A nursery of a stack, without Spark."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from segplane.stack.dev import Stack
from tests.support.nursery.drivers import nursery


@contextmanager
def merging(stack: Stack) -> Iterator[None]:
    """Run a nursery without Spark."""
    is_over = threading.Event()

    def run(client: object) -> None:
        merges = nursery(client)  # type: ignore[arg-type]
        while not is_over.wait(0.1):
            merges.cycle()

    with stack.connect() as client:
        thread = threading.Thread(target=run, args=(client,))
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
