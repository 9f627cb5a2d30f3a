"""Log lines of this machine: package managers, builds and system services."""

import contextlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import SEVERITY_NUMBER_INFO, LogsData, ScopeLogs

LOG_ROOTS = ("/var/log", "~/.npm/_logs", "~/.cache/pip/log", "/var/cache/debconf", "/usr/share/doc")
LINES_PER_FILE_MAX = 20_000
LINES_MAX = 60_000
LINE_CHARS_MAX = 8_000
FOLDERS = frozenset({"log", "logs", "var"})
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ]+(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log file; the time is the line's own, or of the nearest one before it."""

    source: str
    number: int
    text: str
    time_nanos: int


def find_lines(roots: Sequence[str] = LOG_ROOTS) -> list[LogLine]:
    """Read the machine's log files, shortest first so that every source is represented."""
    lines: list[LogLine] = []
    for path in sorted(_log_files(roots), key=lambda p: (p.stat().st_size, p)):
        lines += read_lines(path)
        if len(lines) >= LINES_MAX:
            break
    return lines[:LINES_MAX]


def read_lines(path: Path) -> list[LogLine]:
    """Read one log file; unreadable and binary ones give nothing."""
    try:
        raw = path.read_bytes()
        fallback = path.stat().st_mtime_ns
    except OSError:
        return []
    if b"\0" in raw[:4096]:
        return []
    lines: list[LogLine] = []
    time_nanos = fallback
    for number, text in enumerate(raw.decode(errors="replace").splitlines(), start=1):
        if not text.strip():
            continue
        time_nanos = line_time(text) or time_nanos
        lines.append(LogLine(str(path), number, text[:LINE_CHARS_MAX], time_nanos))
        if len(lines) == LINES_PER_FILE_MAX:
            break
    return lines


def line_time(text: str) -> int | None:
    """Return the first time that a line names, as UTC nanoseconds."""
    matched = _TIME.search(text)
    if matched is None:
        return None
    try:
        year, month, day, hour, minute, second = (int(part) for part in matched.groups()[:6])
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    micros = int((matched[7] or "0").ljust(6, "0"))
    return int(moment.timestamp()) * 1_000_000_000 + micros * 1000


def service_of(source: str) -> str:
    """Name what wrote a log: the file's name, or its folder's if the name is only a date."""
    path = Path(source)
    names = [path.name.partition(".")[0], *(p.name for p in path.parents)]
    plain = (name.strip("._") for name in names)
    return next((n for n in plain if n and not n[0].isdigit() and n not in FOLDERS), "unknown")


def export_of(lines: Sequence[LogLine]) -> LogsData:
    """Make log records of lines, a resource for each service."""
    export, scopes = LogsData(), dict[str, ScopeLogs]()
    for line in lines:
        service = service_of(line.source)
        if service not in scopes:
            resource_logs = export.resource_logs.add()
            resource_logs.resource.attributes.append(_attribute("service.name", service))
            scopes[service] = resource_logs.scope_logs.add()
        scopes[service].log_records.add(
            time_unix_nano=line.time_nanos,
            observed_time_unix_nano=time.time_ns(),
            severity_number=SEVERITY_NUMBER_INFO,
            body=AnyValue(string_value=line.text),
            attributes=[
                _attribute("log.file.path", line.source),
                _attribute("log.record.line", str(line.number)),
            ],
        )
    return export


def _attribute(key: str, text: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=text))


def _log_files(roots: Sequence[str]) -> Iterator[Path]:
    for root in roots:
        for folder, _, names in os.walk(Path(root).expanduser()):
            for name in names:
                path = Path(folder, name)
                with contextlib.suppress(OSError):
                    if path.suffix == ".log" and path.is_file() and path.stat().st_size:
                        yield path
