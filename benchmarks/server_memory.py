"""Memory that malformed and oversized requests take in the server, during them and after."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from meta.v1 import (
    catalog_pb2,
    ingest_token_pb2,
    ingestion_pb2,
    janitor_pb2,
    merge_task_pb2,
    nursery_pb2,
    operations_pb2,
    resources_pb2,
    segment_deletion_pb2,
    segment_lookup_pb2,
)

GROWTH_MB_MAX = 100
CALLERS = 8
ROUNDS = 20
MEBIBYTE = 1024 * 1024
_FILES = (
    catalog_pb2,
    ingest_token_pb2,
    ingestion_pb2,
    janitor_pb2,
    merge_task_pb2,
    nursery_pb2,
    operations_pb2,
    resources_pb2,
    segment_deletion_pb2,
    segment_lookup_pb2,
)


def run() -> list[Result]:
    """Send the same mix again and again, after one round that warms everything up."""
    with bench_postgres() as postgres, bench_server(postgres.url) as server:
        _attack(server.address, rounds=1, seed=0)
        before = _status_mb(server.pid, "VmRSS")
        # Makes the peak begin at what is used now.
        Path(f"/proc/{server.pid}/clear_refs").write_text("5")
        answered = _attack(server.address, rounds=ROUNDS, seed=1)
        after, peak = _status_mb(server.pid, "VmRSS"), _status_mb(server.pid, "VmHWM")
    return [
        compare(
            f"server_memory_{name}",
            value - before,
            GROWTH_MB_MAX,
            reference_name="the most allowed",
            unit=f"MB of RSS, {answered:,} bad requests of {CALLERS} callers",
            bar=bar,
            higher_is_better=False,
        )
        for name, value, bar in (("growth", after, 1.0), ("peak", peak, 0.0))
    ]


def _attack(address: str, rounds: int, seed: int) -> int:
    """Send bad requests from several connections; returns how many were answered."""
    methods = [
        f"/{service.full_name}/{method.name}"
        for file in _FILES
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    ]
    with ThreadPoolExecutor(CALLERS) as pool:
        counts = pool.map(
            lambda n: _send(address, methods, rounds, random.Random(1_000 * seed + n)),
            range(CALLERS),
        )
        return sum(counts)


def _send(address: str, methods: list[str], rounds: int, rnd: random.Random) -> int:
    options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    answered = 0
    with grpc.insecure_channel(address, options=options) as channel:
        for _ in range(rounds):
            for payload, compression in _payloads(rnd):
                call: grpc.UnaryUnaryMultiCallable[bytes, bytes]
                call = channel.unary_unary(rnd.choice(methods))
                future = call.future(payload, timeout=60, compression=compression)
                # The connection itself has to survive them all.
                if future.code() is grpc.StatusCode.UNAVAILABLE:
                    raise RuntimeError(f"the server went away: {future.details()}")
                answered += 1
    return answered


def _payloads(rnd: random.Random) -> Iterator[tuple[bytes, grpc.Compression]]:
    """Noise, length prefixes that promise more than comes, giants, and bombs."""
    plain, gzip = grpc.Compression.NoCompression, grpc.Compression.Gzip
    for _ in range(20):
        yield rnd.randbytes(rnd.randrange(1, 4_096)), plain
    # Field 1 of 2 GiB, of which nothing follows.
    yield b"\x0a\xff\xff\xff\xff\x07", plain
    # Groups in groups, and a message of a million empty parts just below the limit.
    yield b"\x0b" * 100_000, plain
    yield b"\x0a\x00" * MEBIBYTE, plain
    yield b"\x0a" + b"\x80\x80\xfc\x01" + b"x" * (4 * MEBIBYTE - 65_536), plain
    yield bytes(8 * MEBIBYTE), plain
    yield bytes(64 * MEBIBYTE), gzip


def _status_mb(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) / 1024
    raise AssertionError(f"{field} is not told")
