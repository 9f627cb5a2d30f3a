"""Decoding of requests, with a bound on the memory that malformed and large ones take.

A decoded request may take many times its size: 2 MiB of empty submessages become 100 MB. So a large
request waits for one of two slots, which it holds until it is answered, and is refused undecoded if
it has more fields than any legal request.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from google.protobuf.message import DecodeError

from meta.errors import InvalidArgument, Overloaded
from meta.event_loop import to_its_end
from meta.rpc.refusal_pace import RefusalPace
from meta.rpc.restrictions import EVERYBODY, SUBJECT, count_restricted
from meta.rpc.thread_shares import CallCost
from segments import protowire

Message = TypeVar("Message")
Result = TypeVar("Result")
# Decoding takes well below a millisecond, so the event loop may do it.
SMALL_BYTES = 16 * 1024
LARGE_BYTES = 256 * 1024
LARGE_AT_ONCE = 2
FIELDS_MAX = 100_000
# Size of all large requests that have a slot or wait for one; a subject has half of it.
BYTES_MAX = 64 * 1024 * 1024
BYTES_SHARE = 2


class LargeRequests:
    """The slots of large requests; one subject has one of them at a time, at its pace."""

    def __init__(self, pace: RefusalPace) -> None:
        self._pace = pace
        self._slots = asyncio.Semaphore(LARGE_AT_ONCE)
        # Locks of subjects that have calls in a slot or waiting for one.
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        # Bytes of requests by subject.
        self._bytes: dict[str, int] = {}

    async def run(
        self,
        subject: str,
        size_bytes: int,
        work: Callable[[], Coroutine[Any, Any, Result]],
        on_cancel: Callable[[], None],
    ) -> Result:
        """Do `work` in a slot, which is held until the work ends even if the caller has left.

        "" = a subject that may be anybody, whose requests may have all slots. Raises Overloaded
        if the requests that wait have too many bytes.
        """
        with self._counted(subject, size_bytes):
            if not subject:
                async with self._slots:
                    return await to_its_end(work(), on_cancel)
            async with self._own.setdefault(subject, asyncio.Lock()):
                # The wait comes before decoding, which is the dearest part of a refusal.
                await self._pace.after_earlier(("subject", subject))
                async with self._slots:
                    return await to_its_end(work(), on_cancel)

    @contextmanager
    def _counted(self, subject: str, size_bytes: int) -> Iterator[None]:
        """Count the bytes of a request while it is kept."""
        subject_bytes = self._bytes.get(subject, 0) + size_bytes
        is_beyond = bool(subject) and subject_bytes > BYTES_MAX // BYTES_SHARE
        if is_beyond or sum(self._bytes.values()) + size_bytes > BYTES_MAX:
            count_restricted(SUBJECT if subject else EVERYBODY, "bytes")
            raise Overloaded("large requests wait for one another, and more would not fit")
        self._bytes[subject] = subject_bytes
        try:
            yield
        finally:
            self._bytes[subject] -= size_bytes
            if not self._bytes[subject]:
                del self._bytes[subject]

    async def decode_each(
        self, requests: AsyncIterator[bytes], deserialize: Callable[[bytes], Message]
    ) -> AsyncGenerator[Message, None]:
        """Yield the decoded requests of a stream; a large one holds its slot until the next."""
        async for raw in requests:
            if len(raw) <= LARGE_BYTES:
                yield await decode(raw, deserialize, CallCost())
            else:
                async with self._slots:
                    yield await to_its_end(decode(raw, deserialize, CallCost()))


async def decode(raw: bytes, deserialize: Callable[[bytes], Message], cost: CallCost) -> Message:
    """Decode a request from the event loop, in a thread unless it is small; counts the cost."""
    if len(raw) <= SMALL_BYTES:
        return parse(raw, deserialize)

    def work() -> Message:
        with cost.counted():
            return parse(raw, deserialize)

    return await asyncio.to_thread(work)


def parse(raw: bytes, deserialize: Callable[[bytes], Message]) -> Message:
    """Decode a request. Raises InvalidArgument."""
    if len(raw) > LARGE_BYTES and has_more_fields(raw, FIELDS_MAX):
        raise InvalidArgument(f"the request has more than {FIELDS_MAX} fields")
    try:
        return deserialize(raw)
    except (DecodeError, ValueError) as error:
        raise InvalidArgument(f"the request is not a valid message: {error}") from error


def has_more_fields(raw: bytes, limit: int) -> bool:
    """True if the top level has more than `limit` fields, as far as they are well-formed.

    Repeated submessages of all requests are fields of the top level.
    """
    position, end = 0, len(raw)
    try:
        # Written flat: a hostile request has as many of the smallest fields as are counted.
        for _ in range(limit + 1):
            if position == end:
                return False
            length = raw[position + 1]
            if raw[position] & 0x87 == protowire.LENGTH_DELIMITED and length < 0x80:
                position += 2 + length
            else:
                position = protowire.field_end(raw, position)
            if position > end:
                return False
    except (IndexError, protowire.MalformedWire):
        return False
    return True
