"""Commands `lock` and `unlock`, the same for every noun whose things are resources."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient
from segplane.cli.messages import resources_pb2 as pb
from segplane.cli.options import nanos_of
from segplane.cli.output import Answer
from segplane.cli.parameters import Option, Positional

Reason = Annotated[str, Option("--reason", help="Shown to everybody whom the lock refuses.")]
NOT_WITNESSED = (
    "this meta keeps no witness in the bucket: a database that is restored from a backup of before"
    " the lock does not know it"
)


def lock_command(kind: str, key: Positional) -> Callable[..., Answer]:
    """Return the command that locks a thing of a kind."""

    def lock(
        client: MetaClient,
        name: Annotated[str, key],
        reason: Reason,
        until: Annotated[str | None, Option(metavar="TIME")] = None,
    ) -> Answer:
        """Refuse every change and deletion of it. The token that ends the lock is printed once.

        On a dataset it is a legal hold: records are taken and merged, and none is deleted.

        Options:
            until: The lock ends by itself at this time: RFC 3339, or a length of time from now
                such as 90d.
        """
        request = pb.LockResourceRequest(resource=_resource(kind, name), reason=reason)
        if until is not None:
            request.ends_at_nanos = _end_of(until)
        reply = client.resources.LockResource(request)
        notes = ["keep the line above, it is not stored"]
        if not reply.is_witnessed:
            notes.append(NOT_WITNESSED)
        return Answer(reply, [reply.token], notes)

    return lock


def unlock_command(kind: str, key: Positional) -> Callable[..., Answer]:
    """Return the command that ends the lock of a thing of a kind."""

    def unlock(
        client: MetaClient,
        name: Annotated[str, key],
        token_file: Path | None = None,
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
        if token_file is None:
            broken = pb.BreakLockRequest(resource=_resource(kind, name), reason=reason)
            return Answer(client.resources.BreakLock(broken))
        request = pb.UnlockResourceRequest(
            resource=_resource(kind, name), token=_read_token(token_file)
        )
        return Answer(client.resources.UnlockResource(request))

    return unlock


def _resource(kind: str, name: str) -> "pb.ResourceRef":
    from segments.ids import is_canonical_uuid

    number = pb.ResourceKind.Value(f"RESOURCE_KIND_{kind}")
    if is_canonical_uuid(name):
        return pb.ResourceRef(kind=number, id=name)
    return pb.ResourceRef(kind=number, name=name)


def _end_of(text: str) -> int:
    """Return nanoseconds since the epoch of a time, or of a length of time from now."""
    from datetime import UTC, datetime

    from segplane.terminal.times import parse_age

    try:
        return int((datetime.now(UTC) + parse_age(text)).timestamp() * 1_000_000) * 1_000
    except OverflowError:
        raise usage(f"--until: {text!r} is too far away") from None
    except ValueError:
        return nanos_of(text, "--until")


def _read_token(path: Path) -> str:
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise usage(f"--token-file: {path} cannot be read: {error}") from None
    return text.strip()
