"""A collector's place at its streams, without a process."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from collector.ingestion import Ingestion
from collector.otlp.export import CommittedDigests
from collector.streams.babies import StreamBabies
from collector.streams.stream import StreamTail
from tests.support.collector.ground import Ground, GroundToken

DEADLINE_SECS = 30.0
T = TypeVar("T")


@dataclass
class Seat:
    """One incarnation of a collector at a stream, driven by a test without a process."""

    ground: Ground
    token: GroundToken
    digests: CommittedDigests
    threads: ThreadPoolExecutor

    def tail(self, stream_id: str) -> StreamTail:
        """Open the end of a stream; call on the event loop."""
        ingestion = Ingestion(self.ground.client, "collector-1")
        babies = StreamBabies(self.ground.store, self.threads, stream_id)
        return StreamTail(stream_id, ingestion, babies, self.digests)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run on a fresh event loop, with a deadline."""

    async def bounded() -> T:
        async with asyncio.timeout(DEADLINE_SECS):
            return await coroutine

    return asyncio.run(bounded())
