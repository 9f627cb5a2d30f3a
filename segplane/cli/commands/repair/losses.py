"""segplane losses: the ledger of what operators have given up."""

from segplane.cli.command import command, group
from segplane.cli.messages import MetaClient
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.output import Answer, Columns, listing, time_text

app = group()


def _lost(loss: "pb.Loss") -> str:
    from segplane.recovery.losses import loss_text

    return loss_text(loss)


LOSS_COLUMNS: "Columns[pb.Loss]" = {
    "lost": _lost,
    "dataset": "dataset_id",
    "records": lambda loss: loss.records if loss.HasField("records") else "unknown",
    "version": "version",
    "at": lambda loss: time_text(loss.lost_at_nanos),
    "by": "actor",
    "state": lambda loss: (
        f"back at {loss.withdrawn_version}" if loss.HasField("withdrawn_version") else "lost"
    ),
    "reason": "reason",
}


@command(app, "losses --stream 0197c9a2-7f3e-7000-8000-000000000001")
def losses(client: MetaClient, stream: str | None = None, dataset: str | None = None) -> Answer:
    """List the records that operators have accepted to lose, oldest first.

    Options:
        stream: Of one stream, by id.
        dataset: Of one dataset, by id.
    """
    from segplane.recovery.losses import list_losses

    return listing(list_losses(client, stream, dataset), LOSS_COLUMNS)
