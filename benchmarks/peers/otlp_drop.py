"""The references: gRPC servers that parse OTLP logs with the official classes.

`threads` and `asyncio` drop what they parsed. `keeping` is the asyncio server that also writes each
export to its own file, without a sync, like the least durable server that keeps bytes.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Literal

import grpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import (
    LogsServiceServicer,
    add_LogsServiceServicer_to_server,
)

Kind = Literal["threads", "asyncio", "keeping"]
OPTIONS = (("grpc.max_receive_message_length", 64 * 1024 * 1024),)


@contextmanager
def dropping_server(kind: Kind) -> Iterator[tuple[str, int]]:
    """Run a reference in its own process; gives its address and process."""
    with tempfile.TemporaryDirectory(prefix="segplane-bench-") as folder:
        command = [sys.executable, "-P", "-m", "benchmarks.peers.otlp_drop", kind, folder]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            yield f"127.0.0.1:{int(process.stdout.readline())}", process.pid
        finally:
            process.kill()
            process.wait()


class _Dropping(LogsServiceServicer):
    def Export(self, *_: object) -> ExportLogsServiceResponse:  # noqa: N802
        return ExportLogsServiceResponse()


class _AsyncDropping(LogsServiceServicer):
    async def Export(self, *_: object) -> ExportLogsServiceResponse:  # noqa: N802
        return ExportLogsServiceResponse()


class _Keeping(grpc.GenericRpcHandler):
    """Parses an export, and answers when its bytes are in a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count()

    def service(self, _: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        return grpc.unary_unary_rpc_method_handler(self._export)

    async def _export(self, payload: bytes, _: object) -> bytes:
        ExportLogsServiceRequest.FromString(payload)
        path = self._folder / str(next(self._numbers))
        await asyncio.get_running_loop().run_in_executor(None, path.write_bytes, payload)
        return ExportLogsServiceResponse().SerializeToString()


def _serve_threads() -> None:
    server = grpc.server(ThreadPoolExecutor(), options=OPTIONS)
    add_LogsServiceServicer_to_server(_Dropping(), server)
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    server.wait_for_termination()


async def _serve_asyncio(keeping_in: Path | None) -> None:
    server = grpc.aio.server(options=OPTIONS)
    if keeping_in is None:
        add_LogsServiceServicer_to_server(_AsyncDropping(), server)
    else:
        server.add_generic_rpc_handlers((_Keeping(keeping_in),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    if sys.argv[1] == "threads":
        _serve_threads()
    else:
        asyncio.run(_serve_asyncio(Path(sys.argv[2]) if sys.argv[1] == "keeping" else None))
