"""Messages of libraries in the log of a process: counted, sampled, and without their text."""

import json
import logging
import subprocess
import sys

from structlog.testing import capture_logs

from meta.process.library_logs import PLACES_MAX, SAMPLE_SECS, LibraryLogs
from tests.support.clock import SettableClock

PROGRAM = """
import logging, sys, warnings
from meta.process.observability import configure_logging
from prometheus_client import generate_latest
configure_logging("nursery", json=True)
library = logging.getLogger("aiohttp.server")
def meet(text):
    try:
        raise ValueError(text)
    except ValueError:
        library.exception("Error handling %s", text)
for _ in range(500):
    meet("Bearer secret")
logging.getLogger("uvicorn.error").warning("Bearer secret")
logging.getLogger("other").error("Bearer %d", "secret")
warnings.warn("Bearer secret")
sys.stdout.buffer.write(generate_latest())
"""


def test_a_librarys_message_is_an_event_without_its_text() -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM], capture_output=True, text=True, check=True
    )

    assert "secret" not in ended.stderr
    events = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [(event["logger"], event["level"]) for event in events] == [
        ("aiohttp.server", "error"),
        ("uvicorn.error", "info"),
        ("other", "error"),
        ("py.warnings", "warning"),
    ]
    assert events[0]["error"] == "ValueError"
    assert events[0]["frames"][-1].endswith(" meet")
    assert 'segplane_library_messages_total{level="error"} 501.0' in ended.stdout


def test_a_place_is_logged_once_a_minute_and_places_are_bounded() -> None:
    clock = SettableClock()
    handler = LibraryLogs(clock)
    for place in range(PLACES_MAX + 1):
        handler.handle(_record(place))
    with capture_logs() as repeated:
        for place in (0, PLACES_MAX - 1, PLACES_MAX, PLACES_MAX + 1):
            handler.handle(_record(place))
        clock.now += SAMPLE_SECS - 0.1
        handler.handle(_record(0))
    clock.now += 0.1
    with capture_logs() as later:
        handler.handle(_record(0))
        handler.handle(_record(PLACES_MAX + 2))

    assert repeated == []
    # Places beyond the bound share one sample.
    assert [event["suppressed"] for event in later] == [2, 2]


def _record(line: int) -> logging.LogRecord:
    return logging.LogRecord("library", logging.WARNING, "/a/b/c.py", line, "text", (), None)
