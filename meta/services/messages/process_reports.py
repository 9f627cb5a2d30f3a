"""Reports of processes about themselves: their bounds, and what meta adds to them."""

import re

from meta import access
from meta.access import Role
from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.store.engine.pool import Transaction
from meta.store.status.processes import ReportedProcess
from meta.store.versions import clock
from meta.v1 import ingestion_pb2
from meta.v1 import status_pb2 as pb

REPORT_BYTES_MAX = 2_048
CHECKS_MAX = 8
# Of meta itself; no credential has it.
OWN_SUBJECT = ""
# Kinds whose processes of the release before name themselves by their worker_id.
KINDS = frozenset({"collector", "nursery", "merge_worker", "janitor", "gateway"})
_KIND = re.compile(r"[a-z_]{1,32}")


def checked_report(request: ingestion_pb2.DownloadConfigRequest) -> pb.ProcessReport | None:
    """Return what the caller of DownloadConfig says of itself; None if it says nothing.

    Raises InvalidArgument. A worker that sends no report, not even an empty one, is of a release
    without reports, and is known by its worker_id.
    """
    if not request.HasField("report"):
        kind, _, name = request.worker_id.partition("/")
        is_worker = kind in KINDS and access.current.get().role is not Role.READER
        return pb.ProcessReport(kind=kind, name=(name or kind)[:255]) if is_worker else None
    report = request.report
    if not report.ByteSize():
        return None
    if report.ByteSize() > REPORT_BYTES_MAX:
        raise InvalidArgument(
            f"report has {report.ByteSize()} bytes, more than {REPORT_BYTES_MAX}", field="report"
        )
    if _KIND.fullmatch(report.kind) is None:
        raise InvalidArgument(
            f"report.kind is {report.kind!r}, expected 1 to 32 small letters and underscores",
            field="report.kind",
        )
    checks.name(report.name, "report.name")
    checks.at_most(report.checks, "report.checks", CHECKS_MAX)
    for field in ("release", "settings_digest", "progress", "spark_application"):
        checks.text(getattr(report, field), f"report.{field}")
    for number, check in enumerate(report.checks):
        checks.text(check.name, f"report.checks[{number}].name")
        checks.text(check.text, f"report.checks[{number}].text")
    return report


def received(tx: Transaction, report: pb.ProcessReport) -> ReportedProcess:
    """Return the process of a report that has come now."""
    principal, now = access.current.get(), clock.now_nanos(tx)
    return reported_process(
        report, now, principal.subject, credential_ends_at_nanos=principal.ends_at_nanos
    )


def reported_process(
    report: pb.ProcessReport, now: int, subject: str, *, credential_ends_at_nanos: int = 0
) -> ReportedProcess:
    """Return the process of a report that came at a time of the database."""
    return ReportedProcess(
        kind=report.kind,
        name=report.name,
        started_at_nanos=report.started_at_nanos,
        subject=subject,
        report=report.SerializeToString(),
        clock_skew_nanos=report.clock_nanos - now if report.clock_nanos else 0,
        credential_ends_at_nanos=credential_ends_at_nanos,
        first_seen_nanos=now,
        last_seen_nanos=now,
    )
