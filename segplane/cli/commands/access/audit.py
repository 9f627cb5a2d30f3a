"""segplane audit: changes by operators and administrators, and denied calls."""

import time
from collections.abc import Iterator
from typing import Annotated

from segplane.cli.command import command, group
from segplane.cli.connection import complain
from segplane.cli.messages import MetaClient
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.nouns import pages
from segplane.cli.options import nanos_of
from segplane.cli.output import Answer, Columns, cell, listing
from segplane.cli.parameters import Option

app = group()
Since = Annotated[str, Option(help="From this time on: RFC 3339, or 90m = ago.")]
COLUMNS: "Columns[pb.AuditRecord]" = {
    "at": "at",
    "principal": "principal",
    "host": "host",
    "call": "rpc",
    "subject": "subject_id",
    "detail": "detail",
}


@command(app, "audit list --rpc DeleteDataset --since 7d", "list")
def list_(
    client: MetaClient,
    rpc: str = "",
    subject_id: str = "",
    principal: str = "",
    host: str = "",
    request_id: str = "",
    since: Since = "",
    until: str = "",
    limit: Annotated[int, Option(min=1)] = 100,
) -> Answer:
    """List the changes, newest first. JSON is an object a line.

    Options:
        rpc: Only one call, such as DeleteDataset.
        subject_id: Only what concerns this id.
        principal: Only changes by this caller.
        host: Only calls from this host.
        request_id: Only the call with this x-request-id.
        until: Before this time, as --since.
        limit: Most records.
    """
    request = pb.ListAuditRecordsRequest(
        rpc=rpc,
        subject_id=subject_id,
        principal=principal,
        host=host,
        request_id=request_id,
        since_nanos=nanos_of(since, "--since") if since else 0,
        until_nanos=nanos_of(until, "--until") if until else 0,
    )
    records = pages(client.operations.ListAuditRecords, request, limit, "before_id")
    return listing(records, COLUMNS, has_json_lines=True)


@command(app, "audit tail --rpc DeleteDataset")
def tail(
    client: MetaClient,
    rpc: str = "",
    subject_id: str = "",
    principal: str = "",
    host: str = "",
    request_id: str = "",
    lines: Annotated[int, Option(min=0, max=1_000)] = 10,
    every: Annotated[float, Option(min=0.1)] = 1.0,
) -> Answer:
    """Print the last changes and then each one as it is made, until Ctrl-C.

    While meta is out of reach it waits, and then continues from its position.

    Options:
        rpc: Only one call, such as DeleteDataset.
        subject_id: Only what concerns this id.
        principal: Only changes by this caller.
        host: Only calls from this host.
        request_id: Only the call with this x-request-id.
        lines: Older records first.
        every: Seconds between looks.
    """
    template = pb.AuditRecord(
        rpc=rpc, subject_id=subject_id, principal=principal, host=host, request_id=request_id
    )
    records = _followed(client, template, lines, every)
    text = ("  ".join(str(cell(r, column)) for column in COLUMNS.values()) for r in records)
    return Answer(records, text, has_json_lines=True)


def _followed(
    client: MetaClient, template: "pb.AuditRecord", lines: int, every: float
) -> "Iterator[pb.AuditRecord]":
    from meta.errors import Unavailable
    from segplane.cli.audit_tail import RECENT_IDS, AuditTail

    call = client.operations.ListAuditRecords
    request = pb.ListAuditRecordsRequest(**{f.name: v for f, v in template.ListFields()})
    # Read before `older`: records committed between the two are followed.
    newest = list(pages(call, pb.ListAuditRecordsRequest(), RECENT_IDS, "before_id"))
    older = list(pages(call, request, lines, "before_id"))
    tail = AuditTail(lambda after_id: _after(client, after_id), newest)
    yield from (record for record in reversed(older) if not tail.is_ahead(record.id))
    is_reachable = True
    while True:
        try:
            yield from (record for record in tail.poll() if _fits(record, template))
            is_reachable = True
        except Unavailable as error:
            if is_reachable:
                complain(f"{error.message}: trying again ({error.reason})")
            is_reachable = False
        time.sleep(every)


@command(app, "audit denials --reason UNAUTHENTICATED")
def denials(
    client: MetaClient,
    host: str = "",
    reason: str = "",
    since: Since = "",
    limit: Annotated[int, Option(min=1)] = 100,
) -> Answer:
    """List how many calls were denied, by minute, host and reason, newest first.

    Options:
        host: Only from this host; of IPv6 a /64.
        reason: Only one reason, such as UNAUTHENTICATED.
        limit: Most rows.
    """
    request = pb.ListDeniedCallsRequest(
        host=host, reason=reason, since_nanos=nanos_of(since, "--since") if since else 0
    )
    rows = pages(client.operations.ListDeniedCalls, request, limit, "before_id")
    columns = {"minute": "minute", "host": "host", "reason": "reason", "calls": "calls"}
    return listing(rows, columns, has_json_lines=True)


def _after(client: MetaClient, after_id: int) -> "list[pb.AuditRecord]":
    from segplane.cli.audit_tail import PAGE_LIMIT

    request = pb.ListAuditRecordsRequest(after_id=after_id, limit=PAGE_LIMIT)
    return list(client.operations.ListAuditRecords(request).records)


def _fits(record: "pb.AuditRecord", template: "pb.AuditRecord") -> bool:
    return all(getattr(record, field.name) == value for field, value in template.ListFields())
