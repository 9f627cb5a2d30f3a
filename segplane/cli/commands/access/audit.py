"""segplane audit: changes by operators and administrators, and denied calls."""

import time
from collections.abc import Iterator
from typing import Annotated, Any

from segplane.cli.command import command, group
from segplane.cli.connection import complain, usage
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


@command(app, "audit list --rpc DeleteDataset --follow", "list")
def list_(
    client: MetaClient,
    rpc: str = "",
    subject_id: str = "",
    principal: str = "",
    host: str = "",
    request_id: str = "",
    since: Since = "",
    until: str = "",
    limit: Annotated[int | None, Option("--limit", "--lines", min=0)] = None,
    follow: bool = False,
    every: Annotated[float, Option(min=0.1)] = 1.0,
) -> Answer:
    """List the changes, newest first. JSON is an object a line.

    With --follow, print the last ones and then each one as it is made, until Ctrl-C. While meta is
    out of reach it waits, and then continues from its position.

    Options:
        rpc: Only one call, such as DeleteDataset.
        subject_id: Only what concerns this id.
        principal: Only changes by this caller.
        host: Only calls from this host.
        request_id: Only the call with this x-request-id.
        until: Before this time, as --since.
        limit: Most records that exist already; unset: 100, and 10 with --follow.
        follow: Print each change as it is made.
        every: Seconds between looks.
    """
    filters: dict[str, Any] = {"rpc": rpc, "subject_id": subject_id, "principal": principal}
    filters |= {"host": host, "request_id": request_id}
    if follow:
        if since or until:
            raise usage("--follow begins with the last records: it takes no --since and no --until")
        template = pb.AuditRecord(**filters)
        records = _followed(client, template, 10 if limit is None else limit, every)
        text = ("  ".join(str(cell(r, column)) for column in COLUMNS.values()) for r in records)
        return Answer(records, text, has_json_lines=True)
    request = pb.ListAuditRecordsRequest(
        **filters,
        since_nanos=nanos_of(since, "--since") if since else 0,
        until_nanos=nanos_of(until, "--until") if until else 0,
    )
    listed = pages(
        client.operations.ListAuditRecords, request, 100 if limit is None else limit, "before_id"
    )
    return listing(listed, COLUMNS, has_json_lines=True)


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
