"""segplane iceberg: how query engines read datasets through a gateway."""

import json
from typing import Annotated

import typer

from dataplane.location import ask_location
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect, usage
from segplane.cli.data_folder import LocalStackDir
from segplane.cli.iceberg_settings import ENGINES, CatalogAddress, settings_of
from segplane.stack import addresses
from segplane.stack.config import DEFAULT_DATA_DIR

app = typer.Typer(no_args_is_help=True, help="Read datasets as Iceberg tables.")
DEFAULT_GATEWAY = "127.0.0.1:9580"


# A group of one command would be run without its name.
@app.callback()
def group() -> None:
    """Read datasets as Iceberg tables."""


@app.command()
def info(
    gateway: Annotated[
        str | None,
        typer.Argument(
            envvar="SEGPLANE_GATEWAY_ADDRESS",
            metavar="HOST:PORT|URL",
            help="URL at which engines reach the gateway; https:// if it has TLS. Unset: that of"
            f" `segplane dev` on this machine, or {DEFAULT_GATEWAY}.",
        ),
    ] = None,
    engine: Annotated[
        list[str] | None, typer.Option(help=f"Only this one: {', '.join(ENGINES)}.")
    ] = None,
    token: Annotated[
        bool, typer.Option("--token", help="The gateway asks for its GATEWAY_AUTH_TOKEN.")
    ] = False,
    data_dir: LocalStackDir = DEFAULT_DATA_DIR,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print what to paste into each engine to read the datasets of this server."""
    engines = engine or list(ENGINES)
    for name in engines:
        if name not in ENGINES:
            raise usage(f"engine is {name!r}, not one of {', '.join(ENGINES)}")
    with connect(address) as client:
        store = ask_location(client, "segplane iceberg").store
    local = addresses.read(data_dir, address)
    gateway = gateway or (local and local.gateway) or DEFAULT_GATEWAY
    base = gateway.rstrip("/") if "://" in gateway else f"http://{gateway}"
    catalog = CatalogAddress(f"{base}/iceberg", store, token)
    texts = {name: settings_of(name, catalog) for name in engines}
    if as_json:
        print(json.dumps({"uri": catalog.uri, "store": store.url(), "engines": texts}, indent=2))
        return
    print(f"catalog   {catalog.uri}, namespace default, a table a dataset (table@VERSION: pinned)")
    print(f"objects   {store.url()}")
    if catalog.is_s3:
        print(
            "          engines read them with credentials of their own: the gateway gives out none"
        )
    for name, text in texts.items():
        print(f"\n== {name}\n{text}")
