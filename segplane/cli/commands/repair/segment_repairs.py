"""segplane segments hide, unhide, replace, revert: ways out of a damaged segment."""

from pathlib import Path

from segplane.cli.messages import MetaClient
from segplane.cli.options import AcceptLoss, Reason, require_loss_accepted
from segplane.cli.output import Answer


def hide(
    client: MetaClient, segment_id: str, accept_loss: AcceptLoss = False, reason: Reason = ""
) -> Answer:
    """Take a missing or damaged segment out of every list, so that queries work again.

    Its records are missing from then on and are written to the loss ledger. `segments replace` or
    `segments unhide` bring them back as long as there is a sound file.

    Options:
        segment_id: Id of a live segment.
    """
    from segplane.recovery.losses import acceptance

    require_loss_accepted(accept_loss, "segment are missing then")
    from segplane.recovery import segment_repairs

    reply = segment_repairs.hide(client, segment_id, acceptance(reason))
    text = f"hidden from version {reply.version} on: {reply.loss.records} records"
    return Answer(reply, [text])


def unhide(client: MetaClient, segment_id: str, reason: Reason = "") -> Answer:
    """Put a hidden segment back, as a copy of its object under a new id and key.

    Options:
        segment_id: Id of a hidden segment.
    """
    from segplane.recovery import segment_repairs
    from segplane.recovery.losses import acceptance

    reply = segment_repairs.unhide(client, segment_id, acceptance(reason))
    text = f"segment {reply.segment_id} takes its place from version {reply.version} on"
    return Answer(reply, [text])


def replace(
    client: MetaClient,
    segment_id: str,
    file: Path,
    accept_altered: bool = False,
    reason: Reason = "",
) -> Answer:
    """Let a sound copy take the place of a missing or damaged segment.

    The file is read whole and must be of the same dataset, records, times and lineage. A segment
    whose object still has its registered checksum is not replaced. Another file than the registered
    one needs --accept-altered, and its differences are printed. `segments revert` ends a
    replacement as long as the grace of the original lasts.

    Options:
        segment_id: Id of a live or hidden segment.
        file: A sound copy of its object.
        accept_altered: Accept a file whose checksum is not the registered one.
    """
    from segplane.recovery import segment_repairs
    from segplane.recovery.losses import acceptance

    altered = segment_repairs.altered_lines(client, segment_id, file) if accept_altered else ()
    lines = [f"accepted: {line}" for line in altered]
    reply = segment_repairs.replace(
        client, segment_id, file, acceptance(reason), accepts_altered=accept_altered
    )
    text = f"segment {reply.segment_id} takes its place from version {reply.version} on"
    return Answer(reply, [*lines, text])


def revert(
    client: MetaClient, segment_id: str, accept_loss: AcceptLoss = False, reason: Reason = ""
) -> Answer:
    """End a replacement as long as the grace of the original lasts: the original is hidden again.

    Its records are missing from then on and are written to the loss ledger. `segments replace` with
    a sound copy brings them back, and so does `segments unhide` if its object is sound.

    Options:
        segment_id: Id of the segment that replaced another.
    """
    from segplane.recovery.losses import acceptance

    require_loss_accepted(accept_loss, "segment are missing then")
    from segplane.recovery import segment_repairs

    reply = segment_repairs.take_back(client, segment_id, acceptance(reason))
    text = (
        f"segment {reply.original.id} is hidden again from version {reply.version} on:"
        f" {reply.loss.records} records"
    )
    return Answer(reply, [text])
