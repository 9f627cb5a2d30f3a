"""Limits of queries over HTTP, from GATEWAY_QUERY_*."""

import os
from dataclasses import dataclass, replace

from meta.process.declared import read_declared, setting
from meta.process.environment import Environment

MIB = 2**20


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """Limits of one query, of one caller, and of all."""

    # Seconds from a request to the last byte of its result.
    secs: float = setting(60.0, name="QUERY_SECS", low=0.1, high=86_400.0)
    # Memory that the kernel gives a query beyond that of its process at its start.
    memory_bytes: int = setting(1024 * MIB, name="QUERY_MEMORY_BYTES", low=128 * MIB)
    # Bytes that a query may spill to the temporary folder, and those of its result.
    spill_bytes: int = setting(4096 * MIB, name="QUERY_SPILL_BYTES", low=MIB)
    result_bytes: int = setting(1024 * MIB, name="QUERY_RESULT_BYTES", low=1)
    # Bytes that a query may read of files.
    scanned_bytes: int = setting(64 * 1024 * MIB, name="QUERY_SCANNED_BYTES", low=1)
    # Threads of a query; 0 = half of the cores, and two at least where there are two.
    threads: int = 0
    # Queries at a time, of all callers and of one; 0 of all = queries are off.
    concurrent: int = setting(8, name="QUERY_CONCURRENT", high=1_024)
    caller_concurrent: int = 4
    # Bytes that the queries of one caller may read, and time they may take, in an hour.
    caller_scanned_bytes: int = setting(1024 * 1024 * MIB, name="QUERY_CALLER_SCANNED_BYTES", low=1)
    caller_secs: float = setting(7_200.0, name="QUERY_CALLER_SECS", low=0.1)

    def slots_of(self, percent: int) -> int:
        """Queries at a time of a tenant with a share in percent, or with 0 of one caller."""
        if not percent:
            return self.caller_concurrent
        return min(self.caller_concurrent, max(1, self.concurrent * percent // 100))

    @property
    def threads_each(self) -> int:
        """Threads of a query on this machine."""
        cores = os.cpu_count() or 1
        return self.threads or max(min(2, cores), cores // 2)


def load(env: Environment) -> QuerySettings:
    """Read and check the settings; raises ConfigError."""
    settings = read_declared(env, QuerySettings)
    return replace(settings, caller_concurrent=max(1, settings.concurrent // 2))
