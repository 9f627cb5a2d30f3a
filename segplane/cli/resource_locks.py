"""Locks on the command line: `lock` and `unlock` of every noun that is a resource."""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from meta.secrets import random_bytes, token_name
from segplane.cli.care import Kind
from segplane.cli.connection import refusal, usage
from segplane.cli.messages import MetaClient
from segplane.cli.messages import resources_pb2 as pb
from segplane.cli.options import ingest_token_id, nanos_of
from segplane.cli.output import Answer
from segplane.cli.parameters import Option, Positional
from segplane.cli.secret_files import SecretFile, secret_output

STDIN = "-"
_SECRET_BYTES = 32
NOT_WITNESSED = (
    "this meta keeps no witness in the bucket: a database that is restored from a backup of before"
    " the lock does not know it"
)
Name = Annotated[str, Positional(help="Name or id.")]
Reason = Annotated[str, Option("--reason", help="Shown to everybody whom the lock refuses.")]


def lock(
    client: MetaClient,
    kind: Kind,
    name: Name,
    reason: Reason,
    until: Annotated[str | None, Option(metavar="TIME")] = None,
    output: SecretFile = None,
) -> Answer:
    """Refuse every change and deletion of it. The token that ends the lock is printed once.

    On a dataset it is a legal hold: records are taken and merged, and none is deleted.

    Options:
        until: The lock ends by itself at this time: RFC 3339, or a length of time from now
            such as 90d.
    """
    from meta.errors import DeadlineExceeded, Unavailable

    # Made here, so that the client may repeat a call whose answer is lost.
    token = f"lock_{random_bytes(_SECRET_BYTES).hex()}"
    request = pb.LockResourceRequest(
        resource=reference(client, kind, name), reason=reason, token_digest=token_name(token)
    )
    if until is not None:
        request.ends_at_nanos = _end_of(until)
    with secret_output(output) as secret:
        try:
            reply = client.resources.LockResource(request)
        except (Unavailable, DeadlineExceeded) as error:
            kept = secret.kept(token)
            raise refusal(f"{error.message}; if it is locked, its token is {kept}") from error
        reply.token = token
        answer = secret.answer(reply, "token", ["keep this token: it is printed once"])
    if not reply.is_witnessed:
        answer = replace(answer, notes=[*answer.notes, NOT_WITNESSED])
    return answer


def unlock(
    client: MetaClient,
    kind: Kind,
    name: Name,
    token_file: Annotated[str | None, Option(metavar="FILE")] = None,
    break_lock: Annotated[bool, Option("--break")] = False,
    reason: str = "",
) -> Answer:
    """End its lock. A deletion that fell due under it is made a day later at the earliest.

    Options:
        token_file: File with the token that `lock` printed; - reads standard input.
        break_lock: End it without the token, as an admin. It is audited.
        reason: With --break, why; kept in the audit log.
    """
    if break_lock == (token_file is not None):
        raise usage("give --token-file, or --break with --reason")
    ref = reference(client, kind, name)
    if token_file is None:
        return Answer(client.resources.BreakLock(pb.BreakLockRequest(resource=ref, reason=reason)))
    request = pb.UnlockResourceRequest(resource=ref, token=text_of(token_file).strip())
    return Answer(client.resources.UnlockResource(request))


def reference(client: MetaClient, kind: Kind, name: str) -> "pb.ResourceRef":
    """Return how messages name a resource; a token is looked up. Raises NotFound."""
    from segments.ids import is_canonical_uuid

    if kind is Kind.INGEST_TOKEN:
        name = ingest_token_id(client, name)
    if is_canonical_uuid(name):
        return pb.ResourceRef(kind=kind.number, id=name)
    return pb.ResourceRef(kind=kind.number, name=name)


def text_of(file: str) -> str:
    """Return the text of a file, of stdin, or none for no name."""
    try:
        if file == STDIN:
            return sys.stdin.read()
        return Path(file).read_text(encoding="utf-8") if file else ""
    except (OSError, UnicodeDecodeError) as error:
        raise usage(f"{file} cannot be read: {error}") from None


def _end_of(text: str) -> int:
    """Return nanoseconds since the epoch of a time, or of a length of time from now."""
    from segplane.terminal.times import parse_age

    try:
        return int((datetime.now(UTC) + parse_age(text)).timestamp() * 1_000_000) * 1_000
    except OverflowError:
        raise usage(f"--until: {text!r} is too far away") from None
    except ValueError:
        return nanos_of(text, "--until")
