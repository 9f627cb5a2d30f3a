"""Reading datasets: one call opens a dataset at one version, for Arrow, DuckDB, Polars and pandas.

    from segplane.read import open_dataset

    with open_dataset("web", signal="logs", start="1h") as logs:
        logs.pandas()

Importing this needs none of these libraries; each is imported where it is used first.
"""

from segplane.read.dataset import DEFAULT_ADDRESS, OpenDataset, open_dataset
from segplane.read.errors import MetaUnreachable, PinLost, ReadError
from segplane.read.files import DatasetFile

__all__ = [
    "DEFAULT_ADDRESS",
    "DatasetFile",
    "MetaUnreachable",
    "OpenDataset",
    "PinLost",
    "ReadError",
    "open_dataset",
]
