"""segplane audit: changes by operators and administrators, and denied calls."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, TypeVar

import typer

from meta.client import MetaClient
from meta.errors import Unavailable
from meta.v1 import operations_pb2 as pb
from segplane.cli.audit_tail import PAGE_LIMIT, RECENT_IDS, AuditTail
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, complain, connect, usage
from segplane.cli.output import NONE, print_json_lines, print_table
from segplane.terminal.times import parse_time

app = typer.Typer(
    no_args_is_help=True,
    help="List and follow the audit log: each change, its author and the caller's host.",
)
Rpc = Annotated[str, typer.Option(help="Only one call, such as DeleteDataset.")]
SubjectId = Annotated[str, typer.Option(help="Only what concerns this id.")]
Principal = Annotated[str, typer.Option(help="Only changes by this caller.")]
Host = Annotated[str, typer.Option(help="Only calls from this host.")]
RequestId = Annotated[str, typer.Option(help="Only the call with this x-request-id.")]
AsJsonLines = Annotated[bool, typer.Option("--json", help="Print a JSON object on each line.")]
Row = TypeVar("Row", pb.AuditRecord, pb.DeniedCalls)
HEADERS = ("at", "principal", "host", "call", "subject", "detail")


@app.command("list")
def list_(
    rpc: Rpc = "",
    subject_id: SubjectId = "",
    principal: Principal = "",
    host: Host = "",
    request_id: RequestId = "",
    since: Annotated[str, typer.Option(help="From this time on: RFC 3339, or 90m = ago.")] = "",
    until: Annotated[str, typer.Option(help="Before this time, as --since.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="Most records.")] = 100,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJsonLines = False,
) -> None:
    """List the changes, newest first."""
    request = pb.ListAuditRecordsRequest(
        rpc=rpc,
        subject_id=subject_id,
        principal=principal,
        host=host,
        request_id=request_id,
        since_nanos=_nanos(since, "--since"),
        until_nanos=_nanos(until, "--until"),
    )
    with connect(address) as client:
        records = islice(_records(client, request, limit), limit)
        if as_json:
            print_json_lines(records)
        else:
            print_table(HEADERS, [_row(record) for record in records])


@app.command()
def tail(
    rpc: Rpc = "",
    subject_id: SubjectId = "",
    principal: Principal = "",
    host: Host = "",
    request_id: RequestId = "",
    lines: Annotated[int, typer.Option(min=0, max=PAGE_LIMIT, help="Older records first.")] = 10,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between looks.")] = 1.0,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJsonLines = False,
) -> None:
    """Print the last changes and then each one as it is made, until Ctrl-C.

    While meta is out of reach it waits, and then continues from its position.
    """
    template = pb.AuditRecord(
        rpc=rpc, subject_id=subject_id, principal=principal, host=host, request_id=request_id
    )
    with connect(address) as client:
        request = pb.ListAuditRecordsRequest(
            rpc=rpc, subject_id=subject_id, principal=principal, host=host, request_id=request_id
        )
        # Read before `older`: records committed between the two are followed.
        newest = list(_records(client, pb.ListAuditRecordsRequest(), RECENT_IDS))
        older = list(_records(client, request, lines))
        tail_ = AuditTail(lambda after_id: _after(client, after_id), newest)
        _print([r for r in reversed(older) if not tail_.is_ahead(r.id)], as_json=as_json)
        is_reachable = True
        while True:
            try:
                _print((r for r in tail_.poll() if _fits(r, template)), as_json=as_json)
                is_reachable = True
            except Unavailable as error:
                if is_reachable:
                    complain(f"{error.message}: trying again ({error.reason})")
                is_reachable = False
            time.sleep(every)


@app.command()
def denials(
    host: Annotated[str, typer.Option(help="Only from this host; of IPv6 a /64.")] = "",
    reason: Annotated[str, typer.Option(help="Only one reason, such as UNAUTHENTICATED.")] = "",
    since: Annotated[str, typer.Option(help="From this time on: RFC 3339, or 90m = ago.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="Most rows.")] = 100,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJsonLines = False,
) -> None:
    """List how many calls were denied, by minute, host and reason, newest first."""
    request = pb.ListDeniedCallsRequest(
        host=host, reason=reason, since_nanos=_nanos(since, "--since")
    )
    with connect(address) as client:
        rows = list(
            _newest(lambda: client.operations.ListDeniedCalls(request).rows, request, limit)
        )
    if as_json:
        print_json_lines(rows)
    else:
        columns = ((row.minute, row.host, row.reason, row.calls) for row in rows)
        print_table(("minute", "host", "reason", "calls"), columns)


def _records(
    client: MetaClient, request: pb.ListAuditRecordsRequest, most: int
) -> Iterator[pb.AuditRecord]:
    return _newest(lambda: client.operations.ListAuditRecords(request).records, request, most)


def _newest(
    page_of_request: Callable[[], Sequence[Row]],
    request: pb.ListAuditRecordsRequest | pb.ListDeniedCallsRequest,
    most: int,
) -> Iterator[Row]:
    """Page through what `request` lists, newest first, up to `most` rows."""
    while most > 0:
        request.limit = min(PAGE_LIMIT, most)
        page = page_of_request()
        yield from page
        most -= len(page)
        if len(page) < request.limit:
            return
        request.before_id = page[-1].id


def _after(client: MetaClient, after_id: int) -> list[pb.AuditRecord]:
    request = pb.ListAuditRecordsRequest(after_id=after_id, limit=PAGE_LIMIT)
    return list(client.operations.ListAuditRecords(request).records)


def _fits(record: pb.AuditRecord, template: pb.AuditRecord) -> bool:
    return all(getattr(record, field.name) == value for field, value in template.ListFields())


def _print(records: Iterable[pb.AuditRecord], *, as_json: bool) -> None:
    if as_json:
        print_json_lines(records)
        return
    for record in records:
        print("  ".join(map(str, _row(record))), flush=True)


def _row(record: pb.AuditRecord) -> tuple[str, ...]:
    return (
        record.at,
        record.principal or NONE,
        record.host or NONE,
        record.rpc,
        record.subject_id,
        record.detail,
    )


def _nanos(text: str, option: str) -> int:
    try:
        return parse_time(text, datetime.now(UTC)) if text else 0
    except ValueError as error:
        raise usage(f"{option}: {error}") from None
