"""Reports of a process about itself: its name, its last progress, and checks of its machine."""

import hashlib
import shutil
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from meta.process.installed import installed_release
from meta.process.metrics_address import MetricsAddress
from meta.v1.status_pb2 import ProcessCheck, ProcessReport

# Longer texts are cut, so that a report stays below meta's bound of 2,048 bytes.
NAME_BYTES, TEXT_BYTES = 255, 120
# A process reports every 30 s, and another meta has the report a minute later: after a longer
# silence it does not report.
SILENT_SECS = 150
DIGEST_DIGITS = 16
FAILURES_MAX = 4
# Below these a disk is not as it should be.
DISK_BYTES_MIN, DISK_SHARE_MIN = 1 << 30, 0.05
# A container above it is about to be killed.
MEMORY_SHARE_MAX = 0.95
_CGROUP = Path("/sys/fs/cgroup")

# Finds out something of the machine; None = there is nothing to say.
Check = Callable[[], ProcessCheck | None]


class Progress:
    """The last work that a process did, and the parts of it that fail; safe for many threads."""

    def __init__(self) -> None:
        # Time by the process's clock in nanoseconds, and what was done.
        self.last = 0, ""
        self._failures: dict[str, str] = {}

    def made(self, what: str, part: str = "") -> None:
        """Note that some work was done, which ends a failure of its part."""
        self.last = time.time_ns(), what
        self._failures.pop(part, None)

    def failed(self, why: str, part: str = "") -> None:
        """Note that a part of the work failed."""
        self._failures[part] = why

    def recovered(self, part: str) -> None:
        """Note that a part of the work fails no longer, though nothing was done."""
        self._failures.pop(part, None)

    def failures(self) -> list[str]:
        """Return why parts of the work fail now."""
        return [f"{part}: {why}" if part else why for part, why in list(self._failures.items())]


class SelfReport:
    """A process as it reports itself; safe for many threads.

    `settings` are those in force, of which a digest is sent; representations leave secrets out.
    `certificates` are the files of its certificates. Times are of its own clock.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        settings: object,
        progress: Progress,
        *,
        checks: Iterable[Check] = (),
        certificates: Iterable[Path] = (),
        spark_application: str = "",
    ) -> None:
        digest = hashlib.sha256(repr(settings).encode()).hexdigest()
        self._fixed = ProcessReport(
            kind=kind,
            name=_cut(name, NAME_BYTES),
            started_at_nanos=time.time_ns(),
            release=installed_release(),
            settings_digest=digest[:DIGEST_DIGITS],
            spark_application=_cut(spark_application, TEXT_BYTES),
        )
        self._checks = tuple(checks)
        self._certificates = tuple(certificates)
        self._progress = progress

    def message(self, *, is_ending: bool = False) -> ProcessReport:
        """Return the report of now."""
        report = ProcessReport()
        report.CopyFrom(self._fixed)
        report.clock_nanos = time.time_ns()
        report.progress_at_nanos, progress = self._progress.last
        report.progress = _cut(progress, TEXT_BYTES)
        report.is_ending = is_ending
        report.certificate_ends_at_nanos = first_end(self._certificates)
        for failure in self._progress.failures()[:FAILURES_MAX]:
            report.checks.append(ProcessCheck(name="work", text=_cut(failure, TEXT_BYTES)))
        for check in self._checks:
            if result := check():
                report.checks.append(result)
        return report


def waiting_part(dataset_id: str) -> str:
    """Return the part of a nursery's work that a dataset is, for one that it does not merge."""
    return f"dataset {dataset_id}"


def name_of(name: str, bind: str, metrics: MetricsAddress) -> str:
    """Return the name that an operator chose, or the host with the port of the process, if any."""
    if name:
        return name
    port = bind.rpartition(":")[2] if bind else str(metrics.port)
    return f"{socket.gethostname()}:{port}" if port != "0" else socket.gethostname()


def disk(folder: Path) -> Check:
    """Make the check of the disk that a folder is on."""

    def check() -> ProcessCheck | None:
        try:
            usage = shutil.disk_usage(folder)
        except OSError as error:
            return ProcessCheck(name="disk", text=_cut(f"{folder}: {error.strerror}", TEXT_BYTES))
        is_ok = usage.free >= min(DISK_BYTES_MIN, DISK_SHARE_MIN * usage.total)
        text = f"{usage.free / 1e9:.1f} of {usage.total / 1e9:.1f} GB free at {folder}"
        return ProcessCheck(name="disk", is_ok=is_ok, text=_cut(text, TEXT_BYTES))

    return check


def memory() -> ProcessCheck | None:
    """Check the memory of the container, if it has a limit."""
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    if not limit.isdecimal():
        return None
    # Pages of files are given back before anything is killed.
    used -= _file_pages()
    is_ok = used <= MEMORY_SHARE_MAX * int(limit)
    text = f"{used / 1e9:.1f} of {int(limit) / 1e9:.1f} GB used"
    return ProcessCheck(name="memory", is_ok=is_ok, text=text)


def first_end(certificates: Iterable[Path]) -> int:
    """Return the end of the certificate that ends first, in nanoseconds since 1970; 0 = none."""
    ends = [end for end in map(_end, certificates) if end]
    return min(ends, default=0)


def _end(certificate: Path) -> int:
    # Only a process with a certificate needs it.
    from cryptography import x509

    try:
        chain = x509.load_pem_x509_certificates(certificate.read_bytes())
    except (OSError, ValueError):
        return 0
    ends = (each.not_valid_after_utc.timestamp() for each in chain)
    return int(min(ends, default=0.0)) * 10**9


def _file_pages() -> int:
    try:
        lines = (_CGROUP / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)


def _cut(text: str, bytes_max: int) -> str:
    """Return the beginning of a text, without control characters."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return printable.encode(errors="replace")[:bytes_max].decode(errors="ignore")
