"""Plans of scans: the files of a table that a filter leaves, in pages, straight from meta.

Nothing is kept between pages: a plan task holds the filter and the cursor of the next page.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import structlog
from starlette.responses import Response

from meta.errors import CursorInvalid
from meta.v1.common_pb2 import Signal, TimeRange
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from segments.signals import SIGNALS, TRAITS
from segplane.gateway.http import metrics
from segplane.gateway.http.bodies import answer
from segplane.gateway.http.readers import DatasetScope
from segplane.gateway.http.tenant_clients import TenantClients
from segplane.gateway.iceberg import responses
from segplane.gateway.iceberg.access.access_routes import Actions
from segplane.gateway.iceberg.metadata.contents import why_unreadable
from segplane.gateway.iceberg.metadata.data_files import DataFile, UnreadableFile
from segplane.gateway.iceberg.metadata.manifests import DAY_SPEC, UNPARTITIONED_SPEC
from segplane.gateway.iceberg.refusals import PlanTaskMissing, RequestRefused, TableRefused
from segplane.gateway.iceberg.responses import refuse
from segplane.gateway.iceberg.scans.scan_filters import ScanBounds, scan_bounds
from segplane.gateway.iceberg.tables import Tables, expiry_explained

log = structlog.get_logger()
FILES_MAX = 1_000
FILTER_BYTES_MAX = 2**16
# Each file repeats the filter.
_PAGE_BYTES = 4 * 2**20
_FILE_BYTES = 512
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_EPOCH = date(1970, 1, 1)
_TABLE = "/v1/{prefix}/namespaces/{namespace}/tables/{table}"
PLAN_ENDPOINTS = (
    f"POST {_TABLE}/plan",
    f"DELETE {_TABLE}/plan/{{plan-id}}",
    f"POST {_TABLE}/tasks",
)


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of a plan; cursor "" = the first one, at `version` or the current one."""

    dataset_id: str
    filter: Any
    version: int | None = None
    cursor: str = ""

    def token(self) -> str:
        """Return the name of a plan task."""
        fields = [self.dataset_id, self.filter, self.version, self.cursor]
        return base64.urlsafe_b64encode(json.dumps(fields, separators=(",", ":")).encode()).decode()

    @classmethod
    def of(cls, token: str) -> "_Page":
        """Read the name of a plan task. Raises PlanTaskMissing."""
        try:
            fields = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
            page = cls(*fields)
        except (binascii.Error, ValueError, TypeError, RecursionError):
            page = cls("", None)
        is_whole = isinstance(page.dataset_id, str) and isinstance(page.cursor, str) and page.cursor
        if not is_whole or type(page.version) is not int or not 0 <= page.version <= _INT64_MAX:
            raise PlanTaskMissing("there is no such plan task: plan the scan again")
        return page


@dataclass(frozen=True, slots=True)
class ScanPlanner:
    """Plans scans; safe for many threads."""

    clients: TenantClients
    tables: Tables

    def actions(self) -> Actions:
        """Return the routes below a table, by method and name."""
        return {
            ("POST", "plan"): self._plan,
            ("POST", "tasks"): self._fetch,
            ("GET", "plan/"): _not_kept,
            ("DELETE", "plan/"): _cancelled,
        }

    def _plan(self, body: dict[str, Any], table: str, scope: DatasetScope) -> Response:
        """Answer planTableScan, which is complete at once.

        Raises TableMissing, TableRefused, RequestRefused, MetaError.
        """
        if any(body.get(name) is not None for name in ("start-snapshot-id", "end-snapshot-id")):
            raise RequestRefused(
                "scans between two snapshots are not possible: follow the dataset with WatchDataset"
            )
        snapshot = body.get("snapshot-id")
        if snapshot is not None and not _is_version(snapshot):
            raise RequestRefused(f"snapshot-id is {str(snapshot)[:80]!r}, expected a number")
        where = body.get("filter")
        if _size_bytes(where) > FILTER_BYTES_MAX:
            raise RequestRefused(f"the filter has more than {FILTER_BYTES_MAX:,} bytes")
        dataset_id, dataset_name, version = self.tables.identify(table, scope)
        page = _Page(dataset_id, where, version if snapshot is None else snapshot)
        tasks, version = self._read(page, dataset_name, scope)
        return answer({"status": "completed", "plan-id": str(version), **tasks})

    def _fetch(self, body: dict[str, Any], table: str, scope: DatasetScope) -> Response:
        """Answer fetchScanTasks.

        Raises PlanTaskMissing, TableMissing, TableRefused, RequestRefused, MetaError.
        """
        token = body.get("plan-task")
        if not isinstance(token, str):
            raise RequestRefused("plan-task is not text")
        page = _Page.of(token)
        dataset_id, dataset_name, _ = self.tables.identify(table, scope)
        if page.dataset_id != dataset_id:
            raise PlanTaskMissing("the plan task is of another table: plan the scan again")
        try:
            return answer(self._read(page, dataset_name, scope)[0])
        except CursorInvalid as error:
            raise PlanTaskMissing(f"{error}: plan the scan again") from error

    def _read(
        self, page: _Page, dataset_name: str, scope: DatasetScope
    ) -> tuple[dict[str, Any], int]:
        """Return a page of tasks, and the version that they are of."""
        bounds = scan_bounds(True if page.filter is None else page.filter)
        request = _lookup(page, bounds, dataset_name)
        with expiry_explained(dataset_name, page.version or 0):
            reply = self.clients.of(scope).segment_lookup.FindSegments(request)
        if bounds.is_empty:
            # Asked for its version only.
            return {"file-scan-tasks": []}, reply.snapshot_version
        if any(segment.dataset_id != page.dataset_id for segment in reply.segments):
            raise TableRefused(f"dataset {dataset_name!r} was created again: load its table again")
        files = [self.tables.described(segment) for segment in reply.segments]
        unreadable = [file for file in files if isinstance(file, UnreadableFile)]
        for file in unreadable:
            if file.is_left_out:
                metrics.LEFT_OUT_SEGMENTS.inc()
                log.warning("segment_left_out", dataset=dataset_name, text=str(file))
        if refused := [file for file in unreadable if not file.is_left_out]:
            raise TableRefused(why_unreadable(dataset_name, refused))
        tasks = [_task(file, page.filter) for file in files if isinstance(file, DataFile)]
        read: dict[str, Any] = {"file-scan-tasks": tasks}
        if reply.page.HasField("next_cursor"):
            version, cursor = reply.snapshot_version, reply.page.next_cursor
            read["plan-tasks"] = [_Page(page.dataset_id, page.filter, version, cursor).token()]
        return read, reply.snapshot_version


def _lookup(page: _Page, bounds: ScanBounds, dataset_name: str) -> FindSegmentsRequest:
    file_bytes = _FILE_BYTES + len(json.dumps(page.filter))
    request = FindSegmentsRequest(
        dataset_names=[dataset_name],
        as_of_version=page.version,
        limit=1 if bounds.is_empty else min(FILES_MAX, _PAGE_BYTES // file_bytes),
        cursor=page.cursor or None,
    )
    if bounds.has_times and not bounds.is_empty:
        start = max(bounds.low * 1_000, _INT64_MIN)
        # An end of 2^63 - 1 is not a bound.
        end = min((bounds.high + 1) * 1_000, _INT64_MAX)
        request.time_range.CopyFrom(TimeRange(start_time=start, end_time=end))
    if len(bounds.signals) < len(SIGNALS):
        signals = [signal for signal in SIGNALS if signal in bounds.signals]
        request.signals.extend(Signal.ValueType(TRAITS[signal].kind) for signal in signals)
    return request


def _task(file: DataFile, where: Any) -> dict[str, Any]:
    day = str(_EPOCH + timedelta(days=file.day))
    described = {
        "data-file": {
            "spec-id": DAY_SPEC if file.is_of_one_day else UNPARTITIONED_SPEC,
            "content": "data",
            "file-path": file.path,
            "file-format": "parquet",
            "partition": [day] if file.is_of_one_day else [],
            "file-size-in-bytes": file.size_bytes,
            "record-count": file.number_of_events,
        }
    }
    # Some clients take a task without one for a file of which all rows fit.
    return described if where is None else {**described, "residual-filter": where}


def _is_version(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _INT64_MAX


def _size_bytes(where: Any) -> int:
    try:
        return len(json.dumps(where))
    except RecursionError:
        raise RequestRefused("the filter is nested too deep") from None


def _not_kept(_: dict[str, Any], __: str, ___: DatasetScope) -> Response:
    """Refuse: nothing is kept of a plan."""
    message = "plans are complete in the answer to POST plan and are not kept: plan again"
    return refuse(responses.NO_PLAN, message)


def _cancelled(_: dict[str, Any], __: str, ___: DatasetScope) -> Response:
    """End a plan, of which nothing is kept."""
    return Response(status_code=204)
