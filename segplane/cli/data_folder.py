"""The option that names the data folder of a stack on this machine."""

from pathlib import Path
from typing import Annotated

import typer

LocalStackDir = Annotated[
    Path,
    typer.Option(
        "--data-dir",
        envvar="SEGPLANE_DATA_DIR",
        help="Data folder of `segplane dev` on this machine.",
    ),
]
