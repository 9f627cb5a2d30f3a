"""Checks of this machine: Java, disk, memory, clock."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from meta.self_report import first_due
from segplane.health.doctor.verdicts import CheckResult, CheckVerdict, judged, unknown
from segplane.health.processes import SKEW_NANOS, span

AREA = "this machine"
JAVA_MIN = 17
FREE_BYTES_MIN = 5 * 2**30
MEMORY_BYTES_MIN = 2 * 2**30
_JAVA_SECS = 20.0
_VERSION = re.compile(r'version "(\d+)')
_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_GIB = 2**30


def examine(database_time_nanos: int | None, certificate_file: str = "") -> Iterator[CheckResult]:
    """Check this machine, its certificate if there is one, and its clock.

    The clock is compared with that of the database if its time is known.
    """
    yield java()
    yield free_disk(Path.cwd())
    yield memory_limit()
    yield clock(database_time_nanos)
    if certificate_file:
        yield certificate(Path(certificate_file), time.time_ns())


def certificate(file: Path, now_nanos: int) -> CheckResult:
    """Judge the end of the certificate that commands here show to meta."""
    name, validity = "certificate", first_due([file])
    if not validity.ends_at_nanos:
        return CheckResult(AREA, name, CheckVerdict.NEEDS, f"{file} cannot be read as PEM")
    step = "replace SEGPLANE_META_CERT_FILE and its key"
    remaining_nanos = validity.ends_at_nanos - now_nanos
    if remaining_nanos <= 0:
        text = f"{file} ended {span(-remaining_nanos)} ago: meta closes the connection"
        return CheckResult(AREA, name, CheckVerdict.NEEDS, text, step)
    text = f"{file} ends in {span(remaining_nanos)}"
    is_due = now_nanos >= validity.renewal_due_nanos
    return judged(AREA, name, text, text if is_due else "", is_warning=True, next_step=step)


def java() -> CheckResult:
    """Look for the Java that Spark starts."""
    program = shutil.which("java")
    step = f"install Java {JAVA_MIN} or newer where nurseries and merge workers run on Spark"
    if program is None:
        return unknown(AREA, "Java", "there is no java on the PATH of this machine", step)
    try:
        # It writes its version to standard error.
        printed = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=_JAVA_SECS, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return CheckResult(
            AREA, "Java", CheckVerdict.NEEDS, f"{program} does not start: {error}", step
        )
    return java_of(printed)


def java_of(printed: str) -> CheckResult:
    """Judge what `java -version` prints."""
    match = _VERSION.search(printed)
    if match is None:
        return unknown(AREA, "Java", "java -version prints no version")
    release = int(match[1])
    trouble = "" if release >= JAVA_MIN else f"Java {release} is too old for Spark"
    step = f"install Java {JAVA_MIN} or newer"
    return judged(AREA, "Java", f"Java {release}", trouble, next_step=step)


def free_disk(folder: Path) -> CheckResult:
    """Check the free space of the folder's file system."""
    free = shutil.disk_usage(folder).free
    text = f"{free / _GIB:.1f} GiB are free in {folder}"
    trouble = text if free < FREE_BYTES_MIN else ""
    return judged(AREA, "disk", text, trouble, is_warning=True, next_step="free some space")


def memory_limit() -> CheckResult:
    """Read the limit of this process's container, or the memory of the machine."""
    for file in _CGROUP_LIMITS:
        try:
            value = file.read_text().strip()
        except OSError:
            continue
        # "max", and in the first version of cgroups a number beyond any memory, mean no limit.
        if value.isdigit() and int(value) < 2**60:
            return _memory(int(value), "the limit of the container")
    try:
        total_kib = next(
            int(line.split()[1])
            for line in Path("/proc/meminfo").read_text().splitlines()
            if line.startswith("MemTotal:")
        )
    except (OSError, StopIteration, ValueError):
        return unknown(AREA, "memory", "this system does not say how much memory it has")
    return _memory(total_kib * 1024, "the memory of the machine")


def _memory(size: int, noun: str) -> CheckResult:
    text = f"{size / _GIB:.1f} GiB are {noun}"
    trouble = text if size < MEMORY_BYTES_MIN else ""
    step = "give a machine that runs Spark at least 2 GiB"
    return judged(AREA, "memory", text, trouble, is_warning=True, next_step=step)


def clock(database_time_nanos: int | None) -> CheckResult:
    """Compare the clock of this machine with that of the database."""
    if database_time_nanos is None:
        return unknown(AREA, "clock", "meta does not tell the time of the database")
    skew = time.time_ns() - database_time_nanos
    text = f"the clock differs by less than {span(SKEW_NANOS)} from the database's"
    side = "ahead of" if skew > 0 else "behind"
    trouble = f"the clock is {span(abs(skew))} {side} the database's"
    return judged(
        AREA,
        "clock",
        text,
        trouble if abs(skew) > SKEW_NANOS else "",
        next_step="synchronise the clocks of all machines (NTP)",
    )
