"""Restrictions that a query's process puts on itself before it sees the query.

A kernel that cannot filter system calls, or a processor whose numbers are not here, leaves the
other limits: no credentials, no environment, and DuckDB's own lock.
"""

import ctypes
import errno
import os
import platform
import resource
import struct
from pathlib import Path

_NO_NEW_PRIVILEGES = 38
_SET_MODE_FILTER, _ALL_THREADS = 1, 1
# For each processor its mark, the number of seccomp(2), and the numbers of calls that reach another
# machine, program or process: socket, connect, accept, bind, listen, execve, kill, ptrace, tkill,
# accept4, perf_event_open, process_vm_readv, process_vm_writev, bpf, execveat, io_uring_setup,
# pidfd_open, pidfd_getfd. Messages to the gateway go by sockets that are open already.
_CALLS: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "x86_64": (
        0xC000003E,
        317,
        (41, 42, 43, 49, 50, 59, 62, 101, 200, 288, 298, 310, 311, 321, 322, 425, 434, 438),
    ),
    "aarch64": (
        0xC00000B7,
        277,
        (198, 203, 202, 200, 201, 221, 129, 117, 130, 242, 241, 270, 271, 280, 281, 425, 434, 438),
    ),
}
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
# Numbers of another calling convention (x32), by which the ones above could be bypassed.
_FOREIGN_FROM = 0x40000000


def enter(system_bytes: int, spill_bytes: int) -> None:
    """Give up memory, file sizes, dumps and, if the kernel can, ways out; permanently."""
    data = _data_bytes() + system_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    resource.setrlimit(resource.RLIMIT_FSIZE, (spill_bytes, spill_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    filter_calls()


def _data_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0


def filter_calls() -> bool:
    """Refuse system calls that lead out of this process; false if the kernel cannot."""
    if platform.machine() not in _CALLS:
        return False
    architecture, number, refused = _CALLS[platform.machine()]
    program = _program(architecture, refused)
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    # The libraries' threads are there already: the filter is put on all of them.
    return bool(libc.syscall(number, _SET_MODE_FILTER, _ALL_THREADS, header) == 0)


def _program(architecture: int, refused: tuple[int, ...]) -> bytes:
    """Return a filter as the kernel's BPF: the architecture is compared, then each number."""
    allow = 4 + len(refused)
    refuse = allow + 1
    # A jump counts from the step after its own.
    steps = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 0, refuse - 2, architecture),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, refuse - 4, 0, _FOREIGN_FROM),
        *((_EQUAL, refuse - index - 1, 0, number) for index, number in enumerate(refused, 4)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def lower_priority() -> None:
    """Let the gateway and other processes go first."""
    os.nice(10)
