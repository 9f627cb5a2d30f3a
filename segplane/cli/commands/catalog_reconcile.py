"""segplane catalog reconcile: brings back from the bucket what a restored database lost."""

import json
import sys
from collections.abc import Iterator, Sequence
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
    from segplane.recovery.reconcile import StreamOutcome

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
    outcomes: list[StreamOutcome] = []
    with _opened(url) as database:
        try:
            reconciling.check_bucket(database, store)
            for outcome in reconciling.adopt_streams(
                database, store, is_dry_run=is_dry_run, progress=_say
            ):
                outcomes.append(outcome)
                if len(outcomes) % 100 == 0:
                    _say(f"{len(outcomes)} streams")
        except reconciling.ReconcileRefused as error:
            complain(str(error))
            raise typer.Exit(EXIT_REFUSED) from None
        except MetaError as error:
            raise refused(error, database.url.render_as_string()) from None
        except StoreError as error:
            complain(f"the object store cannot be read: {error}")
            raise typer.Exit(EXIT_REFUSED) from None
    if as_json:
        print(json.dumps(_as_json(outcomes, is_dry_run=is_dry_run), indent=2))
    else:
        _print(outcomes, is_dry_run=is_dry_run)
    if any(outcome.reason for outcome in outcomes):
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


def _print(outcomes: Sequence["StreamOutcome"], *, is_dry_run: bool) -> None:
    back = [outcome for outcome in outcomes if not outcome.reason]
    left = [outcome for outcome in outcomes if outcome.reason]
    verb = "would come back" if is_dry_run else "came back"
    print_facts(
        (
            (f"streams that {verb}", len(back)),
            ("their babies", sum(outcome.babies for outcome in back)),
            ("their records", sum(outcome.records for outcome in back)),
            ("babies acknowledged elsewhere", sum(outcome.repeated for outcome in back)),
            ("new datasets", sum(len(outcome.new_dataset_ids) for outcome in back)),
            ("streams left", len(left)),
        )
    )
    for outcome in back:
        for dataset_id in outcome.new_dataset_ids:
            print(f"dataset {dataset_id} is called reconciled-{dataset_id}")
    for outcome in left:
        print(
            f"left: stream {outcome.stream_id}, {outcome.babies} babies,"
            f" {outcome.records} records: {outcome.reason}"
        )
    if is_dry_run:
        print("Nothing was changed.")
    elif not left:
        print(NEXT_STEP.strip())


def _as_json(outcomes: Sequence["StreamOutcome"], *, is_dry_run: bool) -> dict[str, object]:
    return {"dry_run": is_dry_run, "streams": [asdict(outcome) for outcome in outcomes]}
