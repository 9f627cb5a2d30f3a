"""Requests over HTTP: admitted by their tokens; bodies read in time, charged and decompressed."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from aiohttp import web

from collector.intake.admission import AdmittedExport
from collector.intake.intake import Intake
from collector.refusal import malformed, too_large, unavailable
from collector.servers.decompress import DECOMPRESSORS
from collector.servers.otlp_grpc import token_of
from collector.streams.buffer import Charge
from meta.client.addresses import network_of
from segments.signals import Signal

READ_TIMEOUT_SECS = 30.0
DECOMPRESSION_THREADS = 2


async def admit(intake: Intake, request: web.Request, signal: Signal) -> AdmittedExport:
    """Admit a request by the token in its headers; raises Refused."""
    token_secret = token_of([(name.lower(), value) for name, value in request.headers.items()])
    return await intake.admit(signal, token_secret, lambda: network_of(request.remote or ""))


@dataclass(frozen=True, slots=True)
class Bodies:
    """Reads bodies of up to `size_bytes_max`, as sent and decompressed."""

    size_bytes_max: int
    # Apart from the pools that flushes and validation need.
    decompression: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(DECOMPRESSION_THREADS, "decompression")
    )

    async def read(self, request: web.Request, charge: Charge) -> bytes:
        """Read a body and decompress it; raises Refused."""
        encoding = _encoding(request)
        try:
            async with asyncio.timeout(READ_TIMEOUT_SECS):
                body = await self._as_sent(request, charge)
        except TimeoutError:
            raise unavailable("body did not arrive in time") from None
        except (ConnectionError, web.RequestPayloadError) as error:
            # Nobody may be left to read this; raised all the same, so that the call ends here.
            raise malformed("body ended before its end") from error
        if encoding in ("", "identity"):
            return body
        plain = await asyncio.get_running_loop().run_in_executor(
            self.decompression, DECOMPRESSORS[encoding], body, self.size_bytes_max
        )
        charge.grow_to(len(body) + len(plain))
        charge.set(len(plain))
        return plain

    async def _as_sent(self, request: web.Request, charge: Charge) -> bytes:
        declared_bytes = request.content_length or 0
        if declared_bytes > self.size_bytes_max:
            raise too_large(self.size_bytes_max)
        if declared_bytes:
            # Room is reserved before the first byte; half-read bodies would wait for one another.
            await charge.reserve(declared_bytes)
        body = bytearray()
        async for piece in request.content.iter_any():
            body += piece
            if len(body) > self.size_bytes_max:
                raise too_large(self.size_bytes_max)
            charge.grow_to(len(body))
        return bytes(body)


def _encoding(request: web.Request) -> str:
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in DECOMPRESSORS:
        supported = ", ".join(filter(None, DECOMPRESSORS))
        raise malformed(f"content encoding is {encoding}, expected one of {supported}")
    return encoding
