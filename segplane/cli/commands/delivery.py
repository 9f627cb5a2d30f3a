"""segplane test-send: whether records arrive, from the exporter to the reader."""

from functools import partial
from typing import Annotated

import typer

from segplane.cli.commands.reading import refusals
from segplane.cli.connection import DEFAULT_ADDRESS, EXIT_REFUSED, MetaAddress, complain, usage
from segplane.read import OpenDataset, open_dataset


def send_and_wait(
    token: Annotated[
        str, typer.Option(envvar="SEGPLANE_INGEST_TOKEN", help="Ingest token to send with.")
    ] = "",
    count: Annotated[int, typer.Option(min=1, max=1_000_000, help="Log records to send.")] = 10,
    endpoint: Annotated[
        str, typer.Option(envvar="SEGPLANE_OTLP_ENDPOINT", help="OTLP/HTTP address of a collector.")
    ] = "http://127.0.0.1:4318",
    dataset: Annotated[str, typer.Option(help="Dataset that the token's logs go to.")] = "default",
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait at most.")] = 120.0,
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Send log records and wait until readers see each of them once.

    Visible are records that readers of fresh data see, merged are those in segments. They stay in
    the dataset, with the service name segplane-test-send.
    """
    from segplane.cli.delivery import DeliveryFailed, OtlpTarget, deliver

    if not token:
        raise usage(
            "--token or SEGPLANE_INGEST_TOKEN is needed: `segplane tokens create` makes one"
        )
    steps = {
        "visible": partial(_open, dataset, address, True),
        "merged": partial(_open, dataset, address, False),
    }
    try:
        with refusals():
            for step in deliver(OtlpTarget(endpoint, token), count, steps, timeout):
                print(f"{step.seconds:7.2f} s  {step.records} records {step.name}", flush=True)
    except DeliveryFailed as error:
        complain(str(error))
        raise typer.Exit(EXIT_REFUSED) from None


def _open(name: str, address: str, fresh: bool, start: int) -> OpenDataset:
    return open_dataset(
        name, "logs", start, columns=["attributes"], fresh=fresh, meta_address=address
    )
