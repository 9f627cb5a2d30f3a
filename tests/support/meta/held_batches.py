"""A committer of two batches at once, or two full ones, each of which a test lets go."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from meta.commits.group_commit import Committer

DEADLINE_SECS = 10.0


@dataclass
class HeldBatches:
    """A committer of which two batches run at once, each until its last request is let go.

    A request is a key and a number ("a1"); those of one key must not meet.
    """

    fails: Callable[[Sequence[str]], Exception | None] = lambda _: None
    begun: list[list[str]] = field(default_factory=list)
    running: list[list[str]] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    ended: set[str] = field(default_factory=set)
    are_all_ended: bool = False

    def committer(
        self, gather_secs: float = 0.0, batch_max: int = 100, *, are_full: bool = False
    ) -> Committer[str, str, None]:
        """A committer; `are_full` if the second of its batches has to be full."""
        return Committer(
            name="test",
            begin=self._begin,
            keys=lambda request: (request[0],),
            run_batch=self._run_batch,
            run_alone=self._run_alone,
            # A request of a capital letter weighs two.
            weight=lambda request: 1 + request[0].isupper(),
            batches_max=1 if are_full else 2,
            full_batches_max=2 if are_full else 1,
            batch_max=batch_max,
            gather_secs_per_call=gather_secs,
            gather_secs_max=gather_secs,
        )

    def end(self, *requests: str) -> None:
        """Let the batches of these requests go."""
        with self.changed:
            self.ended.update(requests)
            self.changed.notify_all()

    def end_all(self) -> None:
        with self.changed:
            self.are_all_ended = True
            self.changed.notify_all()

    async def until_begun(self, *batches: list[str]) -> None:
        """Wait until exactly these batches have begun, in any order."""

        def wait() -> bool:
            with self.changed:
                return self.changed.wait_for(lambda: len(self.begun) >= len(batches), DEADLINE_SECS)

        assert await asyncio.to_thread(wait)
        assert sorted(self.begun) == sorted(batches)

    def _begin(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _run_batch(self, _session: None, batch: Sequence[str]) -> Sequence[str]:
        with self._shown(list(batch)):
            error = self.fails(batch)
            if error is not None:
                raise error
            self.done.extend(batch)
            return [f"{request} done" for request in batch]

    @contextmanager
    def _shown(self, batch: list[str]) -> Iterator[None]:
        with self.changed:
            met = {request[0] for running in self.running for request in running}
            assert met.isdisjoint(request[0] for request in batch)
            self.begun.append(batch)
            self.running.append(batch)
            assert len(self.running) <= 2
            self.changed.notify_all()
            assert self.changed.wait_for(
                lambda: self.are_all_ended or not self.ended.isdisjoint(batch), DEADLINE_SECS
            )
        try:
            yield
        finally:
            with self.changed:
                self.running.remove(batch)

    def _run_alone(self, request: str) -> str:
        self.alone.append(request)
        return f"{request} alone"


def within_deadline(work: Coroutine[Any, Any, Any]) -> None:
    asyncio.run(asyncio.wait_for(work, DEADLINE_SECS))


Submit: TypeAlias = Callable[..., list["asyncio.Task[str]"]]


def submitter(committer: Committer[str, str, None]) -> Submit:
    return lambda *requests: [asyncio.create_task(committer.submit(r)) for r in requests]
