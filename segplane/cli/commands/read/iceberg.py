"""segplane iceberg: how query engines read datasets through a gateway."""

from typing import Annotated

from segplane.cli.command import command, group
from segplane.cli.connection import usage
from segplane.cli.iceberg_settings import ENGINES, CatalogAddress, settings_of
from segplane.cli.messages import MetaClient
from segplane.cli.options import DataDir
from segplane.cli.output import Answer
from segplane.cli.parameters import Option, Positional
from segplane.stack.defaults import DEFAULT_DATA_DIR

app = group()
DEFAULT_GATEWAY = "127.0.0.1:9580"


@command(app, "iceberg info https://gateway.example.com --engine duckdb --token")
def info(
    client: MetaClient,
    address: str,
    gateway: Annotated[
        str | None,
        Positional(
            envvar="SEGPLANE_GATEWAY_ADDRESS",
            metavar="HOST:PORT|URL",
            help="URL at which engines reach the gateway; https:// if it has TLS. Unset: that of"
            f" `segplane dev` on this machine, or {DEFAULT_GATEWAY}.",
        ),
    ] = None,
    engine: Annotated[
        list[str] | None, Option(help=f"Only this one: {', '.join(ENGINES)}.")
    ] = None,
    token: bool = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
) -> Answer:
    """Print what to paste into each engine to read the datasets of this server.

    Options:
        token: The gateway asks for its GATEWAY_AUTH_TOKEN.
    """
    from dataplane.location import ask_location
    from segplane.stack import addresses

    engines = engine or list(ENGINES)
    for name in engines:
        if name not in ENGINES:
            raise usage(f"engine is {name!r}, not one of {', '.join(ENGINES)}")
    store = ask_location(client, "segplane iceberg").store
    local = addresses.read(data_dir, address)
    gateway = gateway or (local and local.gateway) or DEFAULT_GATEWAY
    base = gateway.rstrip("/") if "://" in gateway else f"http://{gateway}"
    catalog = CatalogAddress(f"{base}/iceberg", store, token)
    texts = {name: settings_of(name, catalog) for name in engines}
    lines = [
        f"catalog   {catalog.uri}, namespace default, a table a dataset (table@VERSION: pinned)",
        f"objects   {store.url()}",
    ]
    if catalog.is_s3:
        lines.append(
            "          engines read them with their own credentials: the gateway gives out none"
        )
    lines += [f"\n== {name}\n{text}" for name, text in texts.items()]
    return Answer({"uri": catalog.uri, "store": store.url(), "engines": texts}, lines)
