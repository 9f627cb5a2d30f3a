"""Decoding of requests, with a bound on the memory that malformed and large ones take.

A decoded request may take many times its size: 2 MiB of empty submessages become 100 MB. So a large
request waits for one of two slots, which it holds until it is answered, and is refused undecoded if
it has more fields than any legal request.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import nullcontext
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from google.protobuf.message import DecodeError

from meta.errors import InvalidArgument
from meta.event_loop import to_its_end
from segments import protowire

Message = TypeVar("Message")
Result = TypeVar("Result")
# Decoding takes well below a millisecond, so the event loop may do it.
SMALL_BYTES = 16 * 1024
LARGE_BYTES = 256 * 1024
LARGE_AT_ONCE = 2
FIELDS_MAX = 100_000


class LargeRequests:
    """The slots of large requests; one subject has one of them at a time."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(LARGE_AT_ONCE)
        # Of subjects that have calls in a slot or waiting for one.
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(
        self,
        subject: str,
        work: Callable[..., Coroutine[Any, Any, Result]],
        *arguments: Any,
        on_cancel: Callable[[], None],
    ) -> Result:
        """Do `work` in a slot, which is held until the work ends even if the caller has left.

        "" = a subject that may be anybody, whose requests may have all slots.
        """
        own = self._own.setdefault(subject, asyncio.Lock()) if subject else nullcontext()
        async with own, self._slots:
            return await to_its_end(work(*arguments), on_cancel)

    async def decode_each(
        self, requests: AsyncIterator[bytes], deserialize: Callable[[bytes], Message]
    ) -> AsyncGenerator[Message, None]:
        """Yield the decoded requests of a stream; a large one holds its slot until the next."""
        async for raw in requests:
            if len(raw) <= LARGE_BYTES:
                yield await decode(raw, deserialize)
            else:
                async with self._slots:
                    yield await to_its_end(decode(raw, deserialize))


async def decode(raw: bytes, deserialize: Callable[[bytes], Message]) -> Message:
    """Decode a request from the event loop, in a thread unless it is small."""
    if len(raw) <= SMALL_BYTES:
        return parse(raw, deserialize)
    return await asyncio.to_thread(parse, raw, deserialize)


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
    try:
        # No message of the contract has groups.
        for count, _ in enumerate(protowire.fields(raw, has_groups=False), start=1):
            if count > limit:
                return True
    except protowire.MalformedWire:
        return False
    return False
