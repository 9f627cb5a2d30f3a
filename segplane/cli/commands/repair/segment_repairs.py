"""segplane segments hide, replace: ways out of a damaged segment."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient
from segplane.cli.options import AcceptLoss, Reason, require_loss_accepted
from segplane.cli.output import Answer
from segplane.cli.parameters import Positional


def hide(
    client: MetaClient,
    segment_id: str,
    accept_loss: AcceptLoss = False,
    undo: bool = False,
    reason: Reason = "",
) -> Answer:
    """Take a missing or damaged segment out of every list, so that queries work again.

    Its records are missing from then on and are written to the loss ledger. `segments replace` or
    --undo bring them back as long as there is a sound file.

    Options:
        segment_id: Id of a live segment; with --undo, of a hidden one.
        undo: Instead, put a hidden segment back, as a copy of its object under a new id and key.
    """
    from segplane.recovery import segment_repairs
    from segplane.recovery.losses import acceptance

    if undo:
        return _replaced(segment_repairs.unhide(client, segment_id, acceptance(reason)))
    require_loss_accepted(accept_loss, "segment are missing then")
    reply = segment_repairs.hide(client, segment_id, acceptance(reason))
    text = f"hidden from version {reply.version} on: {reply.loss.records} records"
    return Answer(reply, [text])


def replace(
    client: MetaClient,
    segment_id: str,
    file: Annotated[Path | None, Positional()] = None,
    accept_altered: bool = False,
    undo: bool = False,
    accept_loss: AcceptLoss = False,
    reason: Reason = "",
) -> Answer:
    """Let a sound copy take the place of a missing or damaged segment.

    The file is read whole and must be of the same dataset, records, times and lineage. A segment
    whose object still has its registered checksum is not replaced. Another file than the registered
    one needs --accept-altered, and its differences are printed.

    --undo ends a replacement as long as the grace of the original lasts: the original is hidden
    again. Its records are missing from then on and are written to the loss ledger. A sound copy
    brings them back, and so does `segments hide --undo` if its object is sound.

    Options:
        segment_id: Id of a live or hidden segment; with --undo, of one that replaced another.
        file: A sound copy of its object.
        accept_altered: Accept a file whose checksum is not the registered one.
        undo: End a replacement.
    """
    from segplane.recovery import segment_repairs
    from segplane.recovery.losses import acceptance

    if undo:
        require_loss_accepted(accept_loss, "segment are missing then")
        back = segment_repairs.take_back(client, segment_id, acceptance(reason))
        text = (
            f"segment {back.original.id} is hidden again from version {back.version} on:"
            f" {back.loss.records} records"
        )
        return Answer(back, [text])
    if file is None:
        raise usage("name the file that takes its place, or --undo")
    altered = segment_repairs.altered_lines(client, segment_id, file) if accept_altered else ()
    lines = [f"accepted: {line}" for line in altered]
    reply = segment_repairs.replace(
        client, segment_id, file, acceptance(reason), accepts_altered=accept_altered
    )
    return _replaced(reply, lines)


def _replaced(reply: Any, lines: Sequence[str] = ()) -> Answer:
    text = f"segment {reply.segment_id} takes its place from version {reply.version} on"
    return Answer(reply, [*lines, text])
