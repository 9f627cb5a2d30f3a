"""Messages of libraries: counted, and sampled as events that say where they come from.

Libraries write what strangers send into their messages: aiohttp quotes a malformed header, with a
token in it. So no text of a message or of an exception is logged, only the line of the code.
"""

import logging
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import structlog

from meta.process_metrics import LIBRARY_MESSAGES

log = structlog.get_logger()
SAMPLE_SECS = 60.0
PLACES_MAX = 1_000
FRAMES_MAX = 8
# Servers of HTTP, and the exceptions by which they refuse what is not HTTP.
_SERVERS = ("aiohttp.server", "uvicorn.error")
_REFUSALS = "aiohttp.http"
_TELEMETRY = "opentelemetry."
_Error = tuple[type[BaseException], BaseException, TracebackType | None]


@dataclass(slots=True)
class _Sample:
    due: float
    suppressed: int = 0


class LibraryLogs(logging.Handler):
    """Logs one message a minute of each place, and counts all."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._samples: dict[tuple[str, str, str], _Sample] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Count a message, and log its place if it is due."""
        LIBRARY_MESSAGES.labels(record.levelname.lower()).inc()
        error = _error_of(record)
        name = error[0].__name__ if error else ""
        source_line = f"{_short(record.pathname)}:{record.lineno}"
        suppressed = self._admit((record.name, source_line, name))
        if suppressed is None:
            return
        fields: dict[str, object] = {"logger": record.name, "place": source_line}
        if error:
            fields |= {"error": name, "frames": _frames(error[2])}
        if suppressed:
            fields["suppressed"] = suppressed
        log.log(_level_of(record, error), "library_message", **fields)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - of logging
        """Print nothing: logging would print the message."""

    def _admit(self, key: tuple[str, str, str]) -> int | None:
        """Return how many were suppressed since the last one; None = this one is, too."""
        now = self._monotonic()
        if key not in self._samples and len(self._samples) >= PLACES_MAX:
            key = ("", "", "")
        sample = self._samples.get(key)
        if sample is not None and now < sample.due:
            sample.suppressed += 1
            return None
        self._samples[key] = _Sample(now + SAMPLE_SECS)
        return 0 if sample is None else sample.suppressed


def take_over() -> None:
    """Send the messages and warnings of libraries here, unless logging is set up already."""
    logging.basicConfig(level=logging.WARNING, handlers=[LibraryLogs()])
    logging.captureWarnings(True)


def _error_of(record: logging.LogRecord) -> _Error | None:
    if not record.exc_info or record.exc_info[0] is None:
        return None
    return record.exc_info


def _level_of(record: logging.LogRecord, error: _Error | None) -> int:
    """The message's level; what strangers send to a server is not a warning.

    Telemetry that is lost is no error: the process works without.
    """
    if record.name.startswith(_TELEMETRY):
        return min(record.levelno, logging.WARNING)
    is_refusal = error is None or error[0].__module__.startswith(_REFUSALS)
    return logging.INFO if record.name in _SERVERS and is_refusal else record.levelno


def _frames(trace: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(trace)[-FRAMES_MAX:]
    return [f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames]


def _short(path: str) -> str:
    return "/".join(Path(path).parts[-2:])
