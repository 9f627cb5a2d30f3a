"""segplane test-send: whether records arrive, from the exporter to the reader."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

from segplane.cli.command import command, group
from segplane.cli.connection import usage
from segplane.cli.options import DataDir
from segplane.cli.parameters import Option
from segplane.stack.defaults import DEFAULT_DATA_DIR

if TYPE_CHECKING:
    from segplane.read import OpenDataset

app = group()
DEFAULT_OTLP = "http://127.0.0.1:4318"
_TOKEN_HELP = "Ingest token to send with; unset: that of `segplane dev` on this machine."


@command(app, "test-send --count 100 --dataset web", "test-send")
def send_and_wait(
    address: str,
    token: Annotated[str, Option(envvar="SEGPLANE_INGEST_TOKEN", help=_TOKEN_HELP)] = "",
    count: Annotated[int, Option(min=1, max=1_000_000)] = 10,
    endpoint: Annotated[
        str,
        Option(
            envvar="SEGPLANE_OTLP_ENDPOINT",
            help=f"OTLP/HTTP address of a collector; unset: of `segplane dev`, or {DEFAULT_OTLP}.",
        ),
    ] = "",
    dataset: str = "default",
    timeout: Annotated[float, Option(min=1)] = 120.0,
    data_dir: DataDir = DEFAULT_DATA_DIR,
) -> None:
    """Send log records and wait until readers see each of them once.

    Visible are records that readers of fresh data see, merged are those in segments. They stay in
    the dataset, with the service name segplane-test-send.

    Options:
        count: Log records to send.
        dataset: Dataset that the token's logs go to.
        timeout: Seconds to wait at most.
    """
    from segplane.cli.delivery import OtlpTarget, deliver
    from segplane.stack import addresses, ingest_token

    local = addresses.read(data_dir, address)
    if local is not None:
        endpoint = endpoint or local.otlp_http_url
        token = token or ingest_token.kept(ingest_token.path_in(data_dir))
    if not token:
        raise usage(
            "--token or SEGPLANE_INGEST_TOKEN is needed: `segplane tokens create` makes one, and"
            f" that of `segplane dev` is used while its meta is {address} and its folder {data_dir}"
        )
    steps = {
        "visible": partial(_open, dataset, address, True),
        "merged": partial(_open, dataset, address, False),
    }
    for step in deliver(OtlpTarget(endpoint or DEFAULT_OTLP, token), count, steps, timeout):
        print(f"{step.seconds:7.2f} s  {step.records} records {step.name}", flush=True)


def _open(name: str, address: str, fresh: bool, start: int) -> "OpenDataset":
    from segplane.read import open_dataset

    return open_dataset(
        name, "logs", start, columns=["attributes"], fresh=fresh, meta_address=address
    )
