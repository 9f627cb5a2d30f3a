"""segplane access quotas: limits of the datasets that a creator has, and of their records."""

from typing import Annotated

from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient
from segplane.cli.messages import resources_pb2 as pb
from segplane.cli.output import NONE, Answer, listing
from segplane.cli.parameters import Option, Positional

Number = Annotated[int | None, Option(min=-1)]


def quotas(
    client: MetaClient,
    creator: Annotated[str | None, Positional(metavar="[SUBJECT]")] = None,
    default: bool = False,
    datasets: Number = None,
    records_per_month: Number = None,
) -> Answer:
    """Show the quotas of creators and what they have; with options, change those of one first.

    A creator is the subject whose calls created datasets. 0 is the default, -1 unlimited.

    Options:
        creator: Only this creator, with quotas or without.
        default: The default of all creators.
        datasets: Live datasets.
        records_per_month: Records accepted for all its datasets in a calendar month (UTC).
    """
    if creator is not None and default:
        raise usage("name a creator or --default, not both")
    if creator == "":
        raise usage("the creator is empty: name one, or --default for all")
    subject = "" if default else creator
    if datasets is not None or records_per_month is not None:
        if subject is None:
            raise usage("name a creator, or --default")
        client.resources.SetCreatorQuota(
            pb.SetCreatorQuotaRequest(
                creator=subject, datasets=datasets, records_per_month=records_per_month
            )
        )
    reply = client.resources.ListCreatorQuotas(pb.ListCreatorQuotasRequest(creator=subject))
    return listing(
        reply.quotas,
        {
            "creator": lambda quota: quota.creator or "(default)",
            "datasets": "live_datasets",
            "datasets at most": lambda quota: _limit(quota.datasets_limit),
            "records this month": "records",
            "records at most": lambda quota: _limit(quota.records_limit),
        },
    )


def _limit(limit: int) -> object:
    return NONE if limit < 0 else limit
