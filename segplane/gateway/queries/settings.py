"""Limits of queries over HTTP, from GATEWAY_QUERY_*."""

import os
from dataclasses import dataclass

from meta.process import Environment

MIB = 2**20


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """Limits of one query, of one caller, and of all."""

    # Seconds from a request to the last byte of its result.
    secs: float = 60.0
    # Memory that the kernel gives a query beyond that of its process at its start.
    memory_bytes: int = 1024 * MIB
    # Bytes that a query may spill to the temporary folder, and those of its result.
    spill_bytes: int = 4096 * MIB
    result_bytes: int = 1024 * MIB
    # Bytes that a query may read of files.
    scanned_bytes: int = 64 * 1024 * MIB
    # Threads of a query; 0 = one for each two cores.
    threads: int = 0
    # Queries at a time, of all callers and of one; 0 of all = queries are off.
    concurrent: int = 8
    caller_concurrent: int = 4
    # Bytes that the queries of one caller may read, and time they may take, in an hour.
    caller_scanned_bytes: int = 1024 * 1024 * MIB
    caller_secs: float = 7_200.0

    @property
    def threads_each(self) -> int:
        """Threads of a query on this machine."""
        return self.threads or max(1, (os.cpu_count() or 1) // 2)


def load(env: Environment) -> QuerySettings:
    """Read and check the settings; raises ConfigError."""
    default = QuerySettings()
    return QuerySettings(
        secs=env.seconds("QUERY_SECS", default.secs, low=0.1, high=86_400.0),
        memory_bytes=env.integer("QUERY_MEMORY_BYTES", default.memory_bytes, low=128 * MIB),
        spill_bytes=env.integer("QUERY_SPILL_BYTES", default.spill_bytes, low=MIB),
        result_bytes=env.integer("QUERY_RESULT_BYTES", default.result_bytes, low=1),
        scanned_bytes=env.integer("QUERY_SCANNED_BYTES", default.scanned_bytes, low=1),
        threads=env.integer("QUERY_THREADS", default.threads, high=1_024),
        concurrent=env.integer("QUERY_CONCURRENT", default.concurrent, high=1_024),
        caller_concurrent=env.integer(
            "QUERY_CALLER_CONCURRENT", default.caller_concurrent, low=1, high=1_024
        ),
        caller_scanned_bytes=env.integer(
            "QUERY_CALLER_SCANNED_BYTES", default.caller_scanned_bytes, low=1
        ),
        caller_secs=env.seconds("QUERY_CALLER_SECS", default.caller_secs, low=0.1),
    )
