"""Opening a view: its links compiled, its datasets pinned at one version."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kql.errors import suggestion
from meta.client import MetaClient
from meta.errors import NotFound
from meta.v1 import catalog_pb2
from segplane.read.bounds import Moment, time_bounds
from segplane.read.connection import connect
from segplane.read.errors import ReadError, ViewRefused, meta_refusals
from segplane.read.lookup import view_names
from segplane.read.opening import open_dataset, version_at
from segplane.read.views.view import OpenView

if TYPE_CHECKING:
    from kql.scope import CheckedQuery


def open_view(
    name: str,
    start: Moment | None = None,
    end: Moment | None = None,
    columns: Sequence[str] | None = None,
    *,
    as_of: Moment | None = None,
    fresh: bool = False,
    meta_address: str | None = None,
    token: str | None = None,
    ca: str | Path | None = None,
    tenant: str | None = None,
) -> OpenView:
    """Open a view as it is defined now, all its datasets at one version.

    `as_of` is the version's number, or a time. `start` and `end` are event times of the datasets'
    records, [start, end), and `tenant` one, as `open_dataset` takes them; `columns` are some of the
    view's. The version is kept from deletion until `close`. Raises ReadError.
    """
    if fresh:
        raise ViewRefused(
            f"there are no fresh views, and {name!r} is one: open its datasets, or omit fresh"
        )
    bounds = time_bounds(start, end)
    with connect(meta_address, token, ca, tenant) as client:
        state = view_state(client, name, columns)
    # sqlglot takes long to import, and what reads datasets alone needs none of it.
    from kql.pushdown.reads import reads_of

    reads = reads_of(state)
    with ExitStack() as stack:
        names = [read.name for read in reads]
        version = stack.enter_context(version_at(names, as_of, meta_address, token, ca, tenant))
        datasets = []
        for read in reads:
            within = bounds.within(*read.nanos())
            opened = open_dataset(
                read.name,
                start=within.start,
                end=within.end,
                columns=read.columns,
                as_of=version,
                meta_address=meta_address,
                token=token,
                ca=ca,
                tenant=tenant,
            )
            datasets.append(stack.enter_context(opened))
            version = opened.version
        return OpenView(name, tuple(datasets), state, stack.pop_all())


def view_state(client: MetaClient, name: str, columns: Sequence[str] | None) -> CheckedQuery:
    """Return a view with some of its columns, None = all, checked. Raises ReadError."""
    from kql.queries import only_columns
    from segplane.read.views.view_sql import ViewUnreadable, compiled_view

    try:
        with meta_refusals(client):
            state = compiled_view(client, name, is_complete=True)
    except ViewUnreadable as error:
        raise ViewRefused(str(error)) from None
    except ReadError as error:
        if isinstance(error.__cause__, NotFound):
            raise ViewRefused(_missing(client, name)) from None
        raise
    if columns is None:
        return state
    if isinstance(columns, str) or not columns or len(set(columns)) < len(columns):
        raise ReadError(f"columns is {columns!r}, expected a list of different names")
    for column in columns:
        if column not in state.columns:
            hint = suggestion(str(column), state.columns, f"it has {', '.join(state.columns)}")
            raise ReadError(f"view {name!r} has no column {column!r}: {hint}")
    return only_columns(state, columns)


def _is_dataset(client: MetaClient, name: str) -> bool:
    try:
        client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name))
    except NotFound:
        return False
    return True


def _missing(client: MetaClient, name: str) -> str:
    with meta_refusals(client):
        if _is_dataset(client, name):
            return f"{name!r} is a dataset and no view: open_dataset reads it"
        hint = suggestion(name, view_names(client), "`segplane views list` lists them")
    return f"there is no view {name!r}: {hint}"
