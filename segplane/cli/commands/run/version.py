"""segplane version: the installed version."""

from meta.process.installed import installed_release
from segplane.cli.command import command, group
from segplane.cli.output import Answer

app = group()


@command(app, "version", hidden=True)
def version() -> Answer:
    """Print the version."""
    text = installed_release()
    return Answer({"version": text}, [text])
