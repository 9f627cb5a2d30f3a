"""Reading: one call opens a dataset or a view at one version, for Arrow, DuckDB, Polars, pandas.

    from segplane.read import open_dataset, open_view

    with open_dataset("web", signal="logs", start="1h") as logs:
        logs.pandas()

    with open_view("failures", start="1h") as failures:
        failures.pandas()

A snapshot read under a lease, with data skipping:

    pin version v at meta --> FindSegments at v --> files --> skipped by time, signal, token index
          |                                           |
     renewed while open                             rows <-- conditions handed down to Parquet
                                                      +
                          fresh=True: babies that were committed and not merged at v

A dataset at v never changes, and the pin keeps its objects while it is open. Merged files and fresh
records together are every committed record once.

Importing this needs none of these libraries; each is imported on first use.
"""

from segplane.read.connection import DEFAULT_ADDRESS
from segplane.read.dataset import OpenDataset
from segplane.read.errors import MetaUnreachable, PinLost, ReadError
from segplane.read.files.files import DatasetFile
from segplane.read.opening import open_dataset
from segplane.read.views.view import OpenView
from segplane.read.views.view_opening import open_view

__all__ = [
    "DEFAULT_ADDRESS",
    "DatasetFile",
    "MetaUnreachable",
    "OpenDataset",
    "OpenView",
    "PinLost",
    "ReadError",
    "open_dataset",
    "open_view",
]
