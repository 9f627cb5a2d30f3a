"""segplane console: an address that opens the console of the stack on this machine."""

from typing import Annotated

from segplane.cli.command import command, group
from segplane.cli.connection import refusal
from segplane.cli.options import DataDir
from segplane.cli.output import Answer
from segplane.cli.parameters import Option
from segplane.stack.defaults import DEFAULT_DATA_DIR

app = group()


@command(app, "console --open")
def console(
    data_dir: DataDir = DEFAULT_DATA_DIR,
    opens_browser: Annotated[bool, Option("--open", help="Open it in a browser.")] = False,
) -> Answer:
    """Print an address that opens the console of `segplane dev` once, within ten minutes."""
    import webbrowser

    from segplane.stack import addresses
    from segplane.stack import console as keys

    local = addresses.read(data_dir)
    if local is None or not local.console:
        raise refusal(f"no `segplane dev` with a console runs in {data_dir}")
    address = keys.address_of(local.console, keys.path_in(data_dir))
    if opens_browser and not webbrowser.open(address):
        raise refusal("there is no browser that can be opened: leave out --open")
    return Answer({"address": address}, [address])
