"""Reading datasets: one call opens a dataset at one version, for Arrow, DuckDB, Polars and pandas.

    from segplane.read import open_dataset

    with open_dataset("web", signal="logs", start="1h") as logs:
        logs.pandas()

Importing this needs none of these libraries; each is imported where it is used first.
"""

from segplane.read.connection import DEFAULT_ADDRESS
from segplane.read.dataset import OpenDataset
from segplane.read.errors import MetaUnreachable, PinLost, ReadError
from segplane.read.files import DatasetFile
from segplane.read.opening import open_dataset

__all__ = [
    "DEFAULT_ADDRESS",
    "DatasetFile",
    "MetaUnreachable",
    "OpenDataset",
    "PinLost",
    "ReadError",
    "open_dataset",
]
