"""The cores that this process may use."""

import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """Cores by the process's affinity and its container's quota, whichever is lower; at least 1."""
    cores = len(os.sched_getaffinity(0))
    quota = _quota(cgroup)
    return cores if quota is None else max(1, min(cores, round(quota)))


def _quota(cgroup: Path) -> float | None:
    """Cores that a container is limited to, by cgroup version 2 or 1; None without a limit."""
    try:
        if (cgroup / "cpu.max").exists():
            limit, period = (cgroup / "cpu.max").read_text().split()
        else:
            limit = (cgroup / "cpu" / "cpu.cfs_quota_us").read_text()
            period = (cgroup / "cpu" / "cpu.cfs_period_us").read_text()
        return int(limit) / int(period) if limit != "max" and int(limit) > 0 else None
    except (OSError, ValueError):
        return None
