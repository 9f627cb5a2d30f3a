"""segplane views: the catalog's views, and the SQL that they stand for."""

from typing import Annotated, cast, get_args

import typer

from segplane.connection import (
    DEFAULT_ADDRESS,
    EXIT_REFUSED,
    MetaAddress,
    complain,
    connect,
    usage,
)
from segplane.kql.sql.engines import EngineName
from segplane.output import NONE, AsJson, print_json, print_table

app = typer.Typer(no_args_is_help=True, help="List views, and print them as SQL.")


@app.command("list")
def list_(address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """List the views with their links; `unchecked` are links of release 0.1.0."""
    # sqlglot takes long to import.
    from segplane.view_sql import all_links, all_views

    with connect(address) as client:
        if as_json:
            print_json(all_views(client))
            return
        rows = []
        for view in all_views(client):
            links = list(all_links(client, view.id))
            unchecked = sum(not link.is_typed for link in links)
            rows.append((view.name, len(links), unchecked, view.schema_id or NONE, view.id))
    print_table(("name", "links", "unchecked", "schema", "id"), rows)


@app.command()
def sql(
    name: Annotated[str, typer.Argument(help="The view.")],
    dialect: Annotated[
        str, typer.Option(help=f"One of {', '.join(get_args(EngineName))}.")
    ] = "duckdb",
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Print a view as one SELECT over tables that are named as its datasets are.

    The text is that of this moment: later links, projections and promoted columns are not in it.
    """
    from segplane.view_sql import ViewUnreadable, view_sql

    if dialect not in get_args(EngineName):
        raise usage(f"--dialect is {dialect!r}, not one of {', '.join(get_args(EngineName))}")
    with connect(address) as client:
        try:
            print(view_sql(client, name, cast("EngineName", dialect)))
        except ViewUnreadable as error:
            complain(str(error))
            raise typer.Exit(EXIT_REFUSED) from None
