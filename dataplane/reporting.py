"""Reports of a process to meta, and with them its questions for the location of the objects.

    SelfReport --(30 s)--> DownloadConfig --> meta: ListProcesses, `segplane status`
                                |
                                +--> Locator: the stores and the settings of now

A thread of its own reports, so that a process whose work hangs still says since when. It reports
what the process spent too.
"""

import threading
from collections.abc import Sequence
from pathlib import Path

import structlog

from dataplane.costs.reports import WORKS, CostReports
from dataplane.location import ASK_EVERY_SECS, Locator
from dataplane.settings import ProcessSettings
from dataplane.task_runner import TaskRunner
from meta.errors import MetaError
from meta.process.shutdown import Shutdown, every
from meta.process.tls import ServerTls
from meta.self_report import Progress, SelfReport, disk, memory, name_of

log = structlog.get_logger()
_LAST_DEADLINE_SECS = 2.0


def process_report(
    kind: str,
    settings: ProcessSettings,
    progress: Progress,
    bind: str = "",
    tls: ServerTls | None = None,
    *,
    folders: Sequence[Path] = (),
    runner: TaskRunner | None = None,
) -> SelfReport:
    """Return what a process says of itself; `folders` are those that it writes to."""
    files = [each.certificate_file for each in (tls, settings.metrics.tls) if each is not None]
    if settings.meta_tls is not None and settings.meta_tls.cert_file:
        files.append(Path(settings.meta_tls.cert_file))
    return SelfReport(
        kind,
        name_of(settings.process_name, bind, settings.metrics),
        settings,
        progress,
        checks=(memory, *map(disk, folders)),
        find=runner.findings if runner is not None else tuple,
        certificates=files,
        spark_application=runner.application_id if runner is not None else "",
    )


class Reporter:
    """Reports a process until its end."""

    def __init__(self, report: SelfReport, locator: Locator) -> None:
        self._report = report
        self._locator = locator
        self._costs = CostReports(locator.client, WORKS[report.kind])
        self._shutdown = Shutdown()
        # Of refusals that are in the log.
        self._reasons = set[str]()
        self._thread = threading.Thread(target=self._run, name="reports", daemon=True)

    def start(self) -> "Reporter":
        """Report now and every 30 s."""
        self._locator.report = self._report
        self._thread.start()
        return self

    def end(self, *, is_orderly: bool = True) -> None:
        """Say that the process ends in good order; a meta that does not answer is left alone."""
        self._shutdown.request()
        self._thread.join(_LAST_DEADLINE_SECS)
        if is_orderly:
            self._costs.report(_LAST_DEADLINE_SECS, is_last=True)
            self._report.end()
            self._ask(_LAST_DEADLINE_SECS)

    def _run(self) -> None:
        for _ in every(ASK_EVERY_SECS, self._shutdown):
            self._ask(ASK_EVERY_SECS)
            self._costs.report_if_due()

    def _ask(self, deadline_secs: float) -> None:
        try:
            self._locator.ask(deadline_secs)
        except MetaError as error:
            if error.reason not in self._reasons:
                log.warning("process_not_reported", reason=error.reason, error=str(error))
            self._reasons.add(error.reason)
        except ValueError as error:
            # A client that is closed takes no calls.
            log.debug("process_not_reported", error=str(error))
