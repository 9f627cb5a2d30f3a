"""Reports of processes about themselves: who may make them, and their bounds."""

import re

from meta import access
from meta.access import Principal
from meta.commits.process_reports import ProcessReports, reported_process
from meta.errors import InvalidArgument, RoleRefused
from meta.roles import Role
from meta.services.messages import checks
from meta.store.engine.pool import Transaction
from meta.store.versions import clock
from meta.v1 import ingestion_pb2
from meta.v1 import status_pb2 as pb

REPORT_BYTES_MAX = 2_048
CHECKS_MAX = 12
# The role of processes of a kind. An admin may run any of them, and of other kinds too.
ROLES = {
    "collector": Role.INGEST,
    "nursery": Role.NURSERY,
    "merge_worker": Role.MERGE,
    "janitor": Role.JANITOR,
    "gateway": Role.GATEWAY,
}
_KIND = re.compile(r"[a-z_]{1,32}")


def find_report(
    reports: ProcessReports, request: ingestion_pb2.DownloadConfigRequest
) -> pb.ProcessReport | None:
    """Return what the caller of DownloadConfig says of itself; None if there is nothing to keep.

    A report that is refused is dropped, so that the caller has its configuration all the same: it
    may be of a later release. A worker that sends no report, not even an empty one, is of a
    release without reports, and is known by its worker_id.
    """
    report = request.report
    if not request.HasField("report"):
        kind, _, name = request.worker_id.partition("/")
        report = pb.ProcessReport(kind=kind, name=(name or kind)[:255]) if kind in ROLES else report
    if not report.ByteSize():
        return None
    caller = access.current.get()
    try:
        _check_caller(report.kind, caller)
        _check(report)
    except (InvalidArgument, RoleRefused) as error:
        reports.drop(caller.subject, error)
        return None
    return report


def add(reports: ProcessReports, tx: Transaction, report: pb.ProcessReport) -> None:
    """Keep a report that comes now."""
    caller, now = access.current.get(), clock.now_nanos(tx)
    report.credential_begins_at_nanos = caller.begins_at_nanos
    reports.add(
        reported_process(report, now, caller.subject, credential_ends_at_nanos=caller.ends_at_nanos)
    )


def _check_caller(kind: str, caller: Principal) -> None:
    if caller.role not in (Role.ADMIN, ROLES.get(kind)):
        raise RoleRefused(f"the role {caller.role.value} runs no processes of kind {kind[:32]!r}")
    # It is part of a row's key, and what others vouch for may be any text.
    checks.name(caller.subject, "subject")


def _check(report: pb.ProcessReport) -> None:
    if report.ByteSize() > REPORT_BYTES_MAX:
        raise InvalidArgument(
            f"report has {report.ByteSize()} bytes, more than {REPORT_BYTES_MAX}", field="report"
        )
    if _KIND.fullmatch(report.kind) is None:
        raise InvalidArgument(
            f"report.kind is {report.kind!r}, expected 1 to 32 small letters and underscores",
            field="report.kind",
        )
    checks.visible(checks.name(report.name, "report.name"), "report.name")
    checks.at_most(report.checks, "report.checks", CHECKS_MAX)
    for field in ("release", "settings_digest", "progress", "spark_application"):
        checks.visible(getattr(report, field), f"report.{field}")
    for check in report.checks:
        checks.visible(check.name, "report.checks.name")
        checks.visible(check.text, "report.checks.text")
