"""The JVM behind a Spark session that did not start: whether a signal ended it."""

import signal
import subprocess
import traceback
from typing import Any

# Time for a JVM whose connections are gone already.
_END_SECS = 1.0


def signal_of_end(error: Exception, gateway: Any) -> str:
    """Name of the signal that ended the JVM of a failed start; "" if it runs or ended by itself.

    `gateway` is Py4J's, None if the JVM died before there was one.
    """
    process = getattr(gateway, "proc", None) or _launched(error)
    if process is None:
        return ""
    try:
        code = process.wait(_END_SECS)
    except subprocess.TimeoutExpired:
        return ""
    # The shell scripts around the JVM pass a signal on as 128 + its number, and so does the JVM.
    number = -code if code < 0 else code - 128
    return signal.Signals(number).name if number in set(signal.Signals) else ""


def _launched(error: Exception) -> "subprocess.Popen[bytes] | None":
    """Find the process in the frame of pyspark's launcher, which keeps it until it is connected."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        process = frame.f_locals.get("proc")
        if isinstance(process, subprocess.Popen):
            return process
    return None
