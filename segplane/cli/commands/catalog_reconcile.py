"""segplane catalog reconcile: brings back from the bucket what a restored database lost."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from meta.errors import MetaError
from segments.errors import StoreError
from segments.location import StoreLocation
from segments.store.open import open_store
from segplane.cli.commands.running import DatabaseUrl, DataDir, StoreUrl
from segplane.cli.connection import EXIT_REFUSED, complain, refused, usage
from segplane.cli.output import AsJson, print_facts
from segplane.stack import config
from segplane.stack.postgres_folder import PostgresError
from segplane.stack.running_postgres import running_url

if TYPE_CHECKING:
    from meta.store.engine.pool import Database
    from segplane.recovery.reconcile import ReconcileReport

NEXT_STEP = """
Nothing is left. Wait until the nurseries have merged what came back (`segplane streams list`), run
`segplane fsck --deep`, then `segplane deletion release`.
"""


def reconcile(
    is_dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would come back; write nothing.")
    ] = False,
    data_dir: DataDir = config.DEFAULT_DATA_DIR,
    database_url: DatabaseUrl = "",
    object_store_url: StoreUrl = "",
    as_json: AsJson = False,
) -> None:
    """Bring back from the bucket what a restored database does not know, each record once.

    Run it beside the running stack, before `segplane deletion release`. It may be stopped and run
    again. Exits with 1 while something is left.
    """
    # Neither pyarrow nor the server's side is part of the `cli` extra.
    from segplane.recovery import reconcile as reconciling

    try:
        url = database_url or running_url(data_dir / "postgres")
        store_url = object_store_url or (data_dir / "objects").absolute().as_uri()
        store = open_store(StoreLocation.from_url(store_url))
    except (PostgresError, ValueError) as error:
        raise usage(str(error)) from None
    with _opened(url) as database:
        try:
            report = reconciling.run(database, store, is_dry_run=is_dry_run, progress=_say)
        except reconciling.ReconcileRefused as error:
            complain(str(error))
            raise typer.Exit(EXIT_REFUSED) from None
        except MetaError as error:
            raise refused(error, database.url.render_as_string()) from None
        except StoreError as error:
            complain(f"the object store cannot be read: {error}")
            raise typer.Exit(EXIT_REFUSED) from None
    if as_json:
        print(json.dumps({"dry_run": is_dry_run, **asdict(report)}, indent=2))
    else:
        _print(report, is_dry_run=is_dry_run)
    if not report.is_complete:
        raise typer.Exit(EXIT_REFUSED)


@contextmanager
def _opened(url: str) -> Iterator["Database"]:
    from meta.store.engine.pool import Database, DatabaseSettings

    try:
        database = Database(DatabaseSettings(url=url))
    except ValueError as error:
        raise usage(f"META_DATABASE_URL: {error}") from None
    try:
        yield database
    finally:
        database.close()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _print(report: "ReconcileReport", *, is_dry_run: bool) -> None:
    back = [stream for stream in report.streams if not stream.reason]
    left = [stream for stream in report.streams if stream.reason]
    segments = report.segments
    new = [*(i for stream in back for i in stream.new_dataset_ids), *segments.new_dataset_ids]
    print_facts(
        (
            ("streams that come back", len(back)),
            ("their babies", sum(stream.babies for stream in back)),
            ("records in them", sum(stream.records for stream in back)),
            ("babies acknowledged elsewhere", sum(stream.repeated for stream in back)),
            ("segments that come back", len(segments.returned)),
            ("records in those", segments.records),
            ("segments that they replace", len(segments.replaced)),
            ("segments held elsewhere", len(segments.garbage)),
            ("hidden or replaced later", len(segments.hidden)),
            ("new datasets", len(new)),
            ("streams left", len(left)),
            ("segments left", len(segments.left)),
        )
    )
    for dataset_id in new:
        print(f"dataset {dataset_id} is called reconciled-{dataset_id}")
    for stream in left:
        print(
            f"left: stream {stream.stream_id}, {stream.babies} babies,"
            f" {stream.records} records: {stream.reason}"
        )
    for key, reason in sorted(segments.left.items()):
        print(f"left: {key}: {reason}")
    if is_dry_run:
        print("Nothing was changed.")
    elif report.is_complete:
        print(NEXT_STEP.strip())
