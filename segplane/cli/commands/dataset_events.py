"""segplane datasets claim-events: rows whose events have no identity yet."""

import typer

from segplane.cli.commands.dataset_settings import Name
from segplane.cli.connection import DEFAULT_ADDRESS, EXIT_REFUSED, MetaAddress, complain, connect
from segplane.read.errors import ReadError
from segplane.recovery.row_events import NoIdentity, claim_rows


def claim_events(name: Name, address: MetaAddress = DEFAULT_ADDRESS) -> None:
    """Give the rows of the window their identities, such as those from before the setting."""
    with connect(address) as client:
        try:
            outcome = claim_rows(client, address, name)
        except (NoIdentity, ReadError) as error:
            complain(str(error))
            raise typer.Exit(EXIT_REFUSED) from None
    print(f"{outcome.claimed} identities of {outcome.rows} rows are claimed now")
