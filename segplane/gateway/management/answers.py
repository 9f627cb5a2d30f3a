"""Answers of a method by its rows of the table: merged, chosen by the body, or in sequence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from meta.client import MetaClient
from meta.errors import MetaError, RaceLost
from segplane.gateway.http.datasets import check_group
from segplane.gateway.http.failures import refusal_of
from segplane.gateway.http.refusals import Outdated, QueryRefusal
from segplane.gateway.management.calls import call, check_parameters
from segplane.gateway.management.json_messages import Json
from segplane.gateway.management.rows import ManagementAsk, Reply, Row

# The rows of each method and path, such as `GET /v1/views`.
Table = Mapping[str, Sequence[Row]]
_CHANGED = "If-Match names another version than the resource has now: read it again"


def answered_by(client: MetaClient, table: Table, rows: Sequence[Row], ask: ManagementAsk) -> Reply:
    """Answer a request by the rows of its method and path. Raises QueryRefusal."""
    try:
        return _answered(client, table, rows, ask)
    except RaceLost as error:
        if not ask.versions:
            raise refusal_of(error) from error
        outdated = Outdated(f"{_CHANGED} ({error.reason})")
        outdated.reason, outdated.metadata = error.reason, error.metadata
        raise outdated from error
    except MetaError as error:
        raise refusal_of(error) from error


def _answered(client: MetaClient, table: Table, rows: Sequence[Row], ask: ManagementAsk) -> Reply:
    check_group(client, ask.values)
    if rows[0].method == "GET":
        return _read(client, rows, ask)
    reply = Reply({})
    for row, members in list(_divided(rows, ask)):
        done = call(client, row, replace(ask, body=members if row.members else ask.body), members)
        reply = replace(done, status=reply.status or done.status or row.status)
        if "id" in reply.content and "token_id" not in ask.values:
            ask = replace(ask, values={"id": str(reply.content["id"])}, versions=())
    then = rows[0].then
    if not then:
        return reply
    read = _read(client, table[f"GET {then}"], replace(ask, parameters={}, versions=()))
    return replace(read, status=reply.status)


def _read(client: MetaClient, rows: Iterable[Row], ask: ManagementAsk) -> Reply:
    """Return what all rows say, with the parts of its version."""
    content: Json = {}
    versions = []
    for row in rows:
        reply = call(client, row, ask, {})
        content |= {n: v for n, v in reply.content.items() if v is not None or n not in content}
        versions += [reply.version] if reply.version else []
        # The parameters are those of the first.
        ask = replace(ask, parameters={})
    version = ".".join(versions)
    return Reply({**content, "version": version} if version else content, version)


def _divided(rows: Sequence[Row], ask: ManagementAsk) -> Iterator[tuple[Row, Json]]:
    """Yield the rows that run, with their members of the body. Raises QueryRefusal."""
    check_parameters(ask.parameters, rows[0].queried())
    if rows[0].run is not None and not rows[0].members:
        yield rows[0], {}
        return
    body = {} if ask.body is None else ask.body
    names = list(dict.fromkeys(name for row in rows for name in row.taken()))
    if not isinstance(body, dict):
        raise QueryRefusal(f"the body is not an object with {', '.join(names) or 'no members'}")
    for name in body:
        if name not in names:
            raise QueryRefusal(f"{name[:80]!r} is not known: expected {', '.join(names)}")
    if rows[0].method != "PATCH":
        for number, row in enumerate(rows):
            members = {name: value for name, value in body.items() if name in row.taken()}
            if members or number == 0:
                yield row, members
        return
    for row in rows:
        if body.keys() <= row.taken().keys():
            yield row, body
            return
    sets = "; or ".join(", ".join(row.taken()) for row in rows)
    raise QueryRefusal(f"these members change in their own requests: {sets}")
