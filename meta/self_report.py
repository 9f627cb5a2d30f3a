"""Reports of a process about itself: its name, its last progress, and checks of its machine."""

import hashlib
import shutil
import socket
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from meta.process.installed import installed_release
from meta.process.metrics_address import MetricsAddress
from meta.v1.status_pb2 import ProcessCheck, ProcessReport
from segments.self_checks import SelfFinding, find_store_use

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
# A certificate is renewed so long before its end, or after two thirds of its validity.
RENEWAL_NANOS = 14 * 86_400 * 10**9
CGROUP = Path("/sys/fs/cgroup")
# Pages of files, which are given back before anything is killed.
_FILE_PAGES = ("active_file", "inactive_file")
_SECS_MAX = (2**63 - 1) // 10**9

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
    `certificates` are the files of its certificates; `find` has findings about what runs its tasks.
    Times are of its own clock.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        settings: object,
        progress: Progress,
        *,
        checks: Iterable[Check] = (),
        find: Callable[[], Iterable[SelfFinding]] = tuple,
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
        self._find = find
        self._certificates = tuple(certificates)
        self._progress = progress
        self._is_ending = self._has_failed = False

    @property
    def kind(self) -> str:
        """The kind of the process."""
        return self._fixed.kind

    def end(self) -> None:
        """Say in the reports from now on that the process ends in good order."""
        self._is_ending = True

    def message(self) -> ProcessReport | None:
        """Return the report of now; None if it cannot be made, which is logged once."""
        try:
            return self._message()
        except Exception:  # noqa: BLE001 - it is sent with a call that the work needs
            if not self._has_failed:
                # Commands read the constants of this module, and log nothing.
                from meta.process.bare_structlog import get_logger

                get_logger().exception("report_not_made")
            self._has_failed = True
            return None

    def _message(self) -> ProcessReport:
        report = ProcessReport()
        report.CopyFrom(self._fixed)
        report.clock_nanos = time.time_ns()
        report.progress_at_nanos, progress = self._progress.last
        report.progress = _cut(progress, TEXT_BYTES)
        report.is_ending = self._is_ending
        validity = first_due(self._certificates)
        report.certificate_begins_at_nanos = validity.begins_at_nanos
        report.certificate_ends_at_nanos = validity.ends_at_nanos
        for failure in self._progress.failures()[:FAILURES_MAX]:
            report.checks.append(ProcessCheck(name="work", text=_cut(failure, TEXT_BYTES)))
        for check in self._checks:
            if result := check():
                report.checks.append(result)
        store = find_store_use()
        for finding in (*([store] if store else ()), *self._find()):
            text = _cut(finding.text, TEXT_BYTES)
            report.checks.append(ProcessCheck(name=finding.name, is_ok=finding.is_ok, text=text))
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


def memory(cgroup: Path = CGROUP) -> ProcessCheck | None:
    """Check the memory of the container, if it has a limit."""
    try:
        limit = (cgroup / "memory.max").read_text().strip()
        used = int((cgroup / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    if not limit.isdecimal():
        return None
    used -= _file_pages(cgroup)
    is_ok = used <= MEMORY_SHARE_MAX * int(limit)
    text = f"{used / 1e9:.1f} of {int(limit) / 1e9:.1f} GB used"
    return ProcessCheck(name="memory", is_ok=is_ok, text=text)


class Validity(NamedTuple):
    """Times between which a certificate is valid, in nanoseconds since 1970; an end of 0 = none."""

    begins_at_nanos: int
    ends_at_nanos: int

    @property
    def renewal_due_nanos(self) -> int:
        """The time from which its renewal is overdue."""
        third = (self.ends_at_nanos - self.begins_at_nanos) // 3
        return self.ends_at_nanos - min(RENEWAL_NANOS, third)


def first_due(certificates: Iterable[Path]) -> Validity:
    """Return the validity of the certificate that is to be renewed first."""
    validities = [validity for file in certificates for validity in _validities(file)]
    return min(validities, key=lambda each: each.renewal_due_nanos, default=Validity(0, 0))


def _validities(certificate: Path) -> list[Validity]:
    # Only a process with a certificate needs it.
    from cryptography import x509

    try:
        chain = x509.load_pem_x509_certificates(certificate.read_bytes())
        return [
            Validity(_nanos(each.not_valid_before_utc), _nanos(each.not_valid_after_utc))
            for each in chain
        ]
    except (OSError, ValueError):
        return []


def _nanos(moment: datetime) -> int:
    """Return a time in nanoseconds since 1970, or the nearest one that an int64 holds."""
    return max(-_SECS_MAX, min(int(moment.timestamp()), _SECS_MAX)) * 10**9


def _file_pages(cgroup: Path) -> int:
    try:
        lines = [line.split() for line in (cgroup / "memory.stat").read_text().splitlines()]
    except OSError:
        return 0
    return sum(int(size) for name, size in lines if name in _FILE_PAGES)


def _cut(text: str, bytes_max: int) -> str:
    """Return the beginning of a text, without control characters."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return printable.encode(errors="replace")[:bytes_max].decode(errors="ignore")
