"""Ledger of costs: reports of processes about what they spent, and pages of a month."""

import re
import struct
from calendar import monthrange
from datetime import UTC, date, datetime
from uuid import UUID

from meta import access
from meta.errors import InvalidArgument, RoleRefused
from meta.roles import Role
from meta.services.messages import checks, cursors
from meta.services.server_parts import ServerParts
from meta.store.costs import ledger, reports
from meta.store.costs.ledger import (
    FIRST,
    NO_DATASET,
    Amounts,
    CostKey,
    DatasetPosition,
    LedgerRow,
)
from meta.store.engine.pool import Transaction
from meta.store.versions import clock
from meta.v1 import costs_pb2 as pb

ENTRIES_MAX = 1_000
# A process reports each minute; no minute of one has a petabyte.
AMOUNT_MAX = 2**50
LIMIT_DEFAULT, LIMIT_MAX = 100, 500
_REPORTER_BYTES = 16
# The kind of work that a caller of a role does; an admin may run each of these processes.
KINDS = {
    Role.INGEST: pb.COST_KIND_INGEST,
    Role.NURSERY: pb.COST_KIND_NURSERY,
    Role.MERGE: pb.COST_KIND_MERGE,
    Role.GATEWAY: pb.COST_KIND_QUERY,
    Role.JANITOR: pb.COST_KIND_UPKEEP,
}
_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")
# The key of a tenant, and the id of a dataset.
_POSITION = struct.Struct(">i16s")


def report_costs(server: ServerParts, request: pb.ReportCostsRequest) -> pb.ReportCostsResponse:
    """Add what a process spent, unless the report was taken already."""
    if len(request.reporter_id) != _REPORTER_BYTES:
        size = len(request.reporter_id)
        raise InvalidArgument(
            f"reporter_id has {size} bytes, not {_REPORTER_BYTES}", field="reporter_id"
        )
    reporter = UUID(bytes=request.reporter_id)
    number = checks.count(request.number, "number", low=1)
    role = access.current.get().role
    amounts: dict[CostKey, Amounts] = {}
    for key, amount in checks.each(request.entries, "entries", ENTRIES_MAX, _entry):
        if role is not Role.ADMIN and KINDS.get(role) != key.kind:
            kind = pb.CostKind.Name(pb.CostKind.ValueType(key.kind))
            raise RoleRefused(f"the role {role.value} does no work of {kind}")
        former = amounts.get(key)
        amounts[key] = amount if former is None else former.plus(amount)

    def work(tx: Transaction) -> bool:
        is_added = reports.claim(tx, reporter, number)
        if is_added and amounts:
            ledger.add(tx, amounts)
        return is_added

    is_added = server.transactions.write(work)
    if is_added:
        server.reports.costs.charge(amounts)
    return pb.ReportCostsResponse(is_added=is_added)


def _entry(entry: pb.CostEntry, field: str) -> tuple[CostKey, Amounts]:
    dataset_id = checks.optional_uuid(entry.dataset_id, f"{field}.dataset_id")
    if entry.kind not in KINDS.values():
        raise InvalidArgument(f"{field}.kind is {entry.kind}, no work", field=f"{field}.kind")
    said = entry.amounts
    amounts = (said.bytes, said.read_requests, said.write_requests, said.cpu_micros)
    if min(amounts) < 0 or max(amounts) > AMOUNT_MAX:
        for number in pb.CostAmounts.DESCRIPTOR.fields:
            name = f"{field}.amounts.{number.name}"
            checks.count(getattr(said, number.name), name, high=AMOUNT_MAX)
    return CostKey(dataset_id or NO_DATASET, entry.kind), Amounts(*amounts)


def list_costs(server: ServerParts, request: pb.ListCostsRequest) -> pb.ListCostsResponse:
    """One page of a month, or what one dataset cost in it."""
    limit = checks.limit(request.limit, default=LIMIT_DEFAULT, most=LIMIT_MAX)
    dataset_id = checks.filter_uuid(request, "dataset_id")
    if request.by_day and dataset_id is None:
        raise InvalidArgument("by_day needs dataset_id", field="by_day")
    month = _month(request.month) if request.month else None
    after = _position(request.after, request.month)

    def work(tx: Transaction) -> tuple[list[LedgerRow], date, date]:
        today = datetime.fromtimestamp(clock.now_nanos(tx) / 1e9, UTC).date()
        first = month or today.replace(day=1)
        last = first.replace(day=monthrange(first.year, first.month)[1])
        if dataset_id is None:
            rows = ledger.page(tx, first, last, after, limit + 1)
        else:
            position = DatasetPosition(0, dataset_id)
            rows = ledger.of_dataset(tx, first, last, position, by_day=request.by_day)
        return list(rows), first, min(last, today)

    rows, first, last = server.transactions.read(work)
    positions = list(dict.fromkeys(DatasetPosition(row.tenant_key, row.dataset_id) for row in rows))
    cursor = ""
    if dataset_id is None and len(positions) > limit:
        cursor = _cursor(positions[limit - 1], request.month)
        listed = set(positions[:limit])
        rows = [row for row in rows if DatasetPosition(row.tenant_key, row.dataset_id) in listed]
    return pb.ListCostsResponse(
        costs=map(_message, rows),
        next_cursor=cursor,
        month=f"{first:%Y-%m}",
        days=max(0, (last - first).days + 1),
    )


def _month(text: str) -> date:
    matched = _MONTH.fullmatch(text)
    if matched is None or matched[1] == "0000":
        raise InvalidArgument("month is not YYYY-MM", field="month")
    return date(int(matched[1]), int(matched[2]), 1)


def _message(row: LedgerRow) -> pb.DatasetCost:
    return pb.DatasetCost(
        dataset_id="" if row.dataset_id == NO_DATASET else str(row.dataset_id),
        dataset_name=row.name,
        day=row.day.isoformat(),
        kind=pb.CostKind.ValueType(row.kind),
        amounts=pb.CostAmounts(
            bytes=row.amounts.bytes,
            read_requests=row.amounts.read_requests,
            write_requests=row.amounts.write_requests,
            cpu_micros=row.amounts.cpu_micros,
        ),
    )


def _cursor(position: DatasetPosition, month: str) -> str:
    raw = _POSITION.pack(position.tenant_key, position.dataset_id.bytes)
    return cursors.encode(raw, _bound_to(raw, month))


def _position(cursor: str, month: str) -> DatasetPosition:
    if not cursor:
        return FIRST
    raw = cursors.decode(cursor, _POSITION.size, lambda at: _bound_to(at, month), "after")
    tenant_key, dataset_id = _POSITION.unpack(raw)
    return DatasetPosition(tenant_key, UUID(bytes=dataset_id))


def _bound_to(position: bytes, month: str) -> bytes:
    return b"ListCosts" + month.encode() + position
