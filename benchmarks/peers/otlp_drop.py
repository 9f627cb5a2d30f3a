"""The references: gRPC servers that parse OTLP logs with the official classes and drop them."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Literal

import grpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import (
    LogsServiceServicer,
    add_LogsServiceServicer_to_server,
)

Kind = Literal["threads", "asyncio"]
OPTIONS = (("grpc.max_receive_message_length", 64 * 1024 * 1024),)


@contextmanager
def dropping_server(kind: Kind) -> Iterator[tuple[str, int]]:
    """Run a reference in a process of its own; gives its address and process."""
    command = [sys.executable, "-P", "-m", "benchmarks.peers.otlp_drop", kind]
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


def _serve_threads() -> None:
    server = grpc.server(ThreadPoolExecutor(), options=OPTIONS)
    add_LogsServiceServicer_to_server(_Dropping(), server)
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    server.wait_for_termination()


async def _serve_asyncio() -> None:
    server = grpc.aio.server(options=OPTIONS)
    add_LogsServiceServicer_to_server(_AsyncDropping(), server)
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    if sys.argv[1] == "threads":
        _serve_threads()
    else:
        asyncio.run(_serve_asyncio())
