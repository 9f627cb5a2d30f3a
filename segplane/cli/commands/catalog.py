"""segplane catalog: rebuild of a lost database from the bucket, and reconciliation with it."""

import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meta.errors import MetaError
from meta.process import ConfigError, environment
from segments.errors import StoreError
from segplane.cli.commands.catalog_reconcile import reconcile, store_of_options
from segplane.cli.commands.running import DatabaseUrl, DataDir, NamedStoreUrls, StoreUrl
from segplane.cli.connection import EXIT_REFUSED, complain, refused, usage
from segplane.cli.console import one_line_errors
from segplane.cli.output import print_facts, print_table, size_text
from segplane.fsck.lost_identities import once_again
from segplane.stack import config, preflight
from segplane.stack.postgres import EmbeddedPostgres

if TYPE_CHECKING:
    from segments.rebuild.plan import Rebuild

app = typer.Typer(
    no_args_is_help=True,
    help="Bring the catalog back from the bucket, after a restore or a loss of the database.",
)
app.command()(reconcile)
NOT_IN_THE_BUCKET = """
The bucket does not hold the following, which has to be set again: dataset names (--names), ingest
tokens and their routing, stores of new segments, retention, quotas, weights of sharding fields
(only their order is known), schemas, views, projections and links, and what keeps each event once.
Deleted datasets come back.
Streams come back stopped: collectors register for new ones.
"""


@app.command()
def rebuild(
    from_bucket: Annotated[
        bool, typer.Option("--from-bucket", help="Read segments' footers and baby segments.")
    ] = False,
    is_applied: Annotated[
        bool, typer.Option("--apply", help="Write it; without this, nothing changes.")
    ] = False,
    names: Annotated[
        Path | None, typer.Option(help="A JSON file: dataset ids and their names.")
    ] = None,
    data_dir: DataDir = config.DEFAULT_DATA_DIR,
    database_url: DatabaseUrl = "",
    object_store_url: StoreUrl = "",
    object_stores: NamedStoreUrls = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Recreate datasets, live segments, offsets and checkpoints in an empty database.

    Stop every process first. Prints what it would do; --apply does it. Deletion is held afterwards.
    """
    # Neither pyarrow nor the server's side is part of the `cli` extra.
    from segplane.recovery import rebuild as rebuilding

    if not from_bucket:
        raise usage("say what to rebuild from: --from-bucket")
    try:
        store = store_of_options(object_store_url, object_stores, data_dir)
        plan = rebuilding.read_plan(store)
        named = rebuilding.name_datasets(plan, rebuilding.read_names(names) if names else {})
    except (rebuilding.NamesRefused, ConfigError, ValueError) as error:
        raise usage(str(error)) from None
    except StoreError as error:
        complain(f"the object store cannot be read: {error}")
        raise typer.Exit(EXIT_REFUSED) from None
    version = None
    if is_applied and not plan.dataset_ids:
        raise usage(f"no object of Segplane is in {store.location.url()}")
    if is_applied:
        with contextlib.ExitStack() as exits, one_line_errors():
            if not database_url:
                preflight.make_data_dir(data_dir)
                postgres = EmbeddedPostgres(data_dir / "postgres")
                database_url = exits.enter_context(postgres).url
            version = _apply(database_url, plan, named)
    if as_json:
        print(json.dumps(_as_json(plan, named, version), indent=2))
    else:
        _print(plan, named, version)


def _apply(database_url: str, plan: "Rebuild", named: dict[str, str]) -> int:
    from meta.store.engine.pool import Database, DatabaseSettings
    from meta.store.recovery.rebuild import DatabaseNotEmpty
    from segplane.recovery import rebuild as rebuilding

    try:
        default = environment("META_").text("DEFAULT_DATASET", "default")
        database = Database(DatabaseSettings(url=database_url))
    except (ValueError, ConfigError) as error:
        raise usage(f"META_DATABASE_URL: {error}") from None
    try:
        return rebuilding.apply(database, plan, named, default)
    except DatabaseNotEmpty as error:
        complain(str(error))
        raise typer.Exit(EXIT_REFUSED) from None
    except MetaError as error:
        raise refused(error, database.shown_url) from None
    finally:
        database.close()


def _print(plan: "Rebuild", named: dict[str, str], version: int | None) -> None:
    segments = Counter(live.segment.footer.dataset_id for live in plan.segments)
    rows, sizes = Counter[str](), Counter[str]()
    for live in plan.segments:
        rows[live.segment.footer.dataset_id] += live.segment.rows
        sizes[live.segment.footer.dataset_id] += live.segment.compressed_size_bytes
    print_table(
        ("dataset", "name", "segments", "events", "size"),
        [(d, named[d], segments[d], rows[d], size_text(sizes[d])) for d in plan.dataset_ids],
    )
    for dataset_id, spec in sorted(plan.specs.items()):
        if spec.sharding_fields or spec.promoted:
            promoted = ", ".join(column.name for column in spec.promoted)
            sharding = ", ".join(spec.sharding_fields)
            print(f"{dataset_id}: sharding fields [{sharding}], promoted columns [{promoted}]")
    print()
    print_table(
        ("stream", "dataset", "committed", "merged", "deleted"),
        [
            (s.stream_id, e.dataset_id, s.committed_offset, e.merged_offset, s.deleted_offset)
            for s in plan.streams
            for e in s.entries
        ],
    )
    print()
    reasons = Counter(dropped.reason.split(":")[0] for dropped in plan.dropped)
    print_facts(
        [
            ("datasets", len(plan.dataset_ids)),
            ("live segments", len(plan.segments)),
            ("streams", len(plan.streams)),
            ("babies not reaped", sum(len(s.babies) for s in plan.streams)),
            *((f"not live, {reason}", count) for reason, count in sorted(reasons.items())),
        ]
    )
    for dropped in plan.dropped:
        if dropped.reason.startswith(("foreign", "unreadable")):
            print(f"left out: {dropped.key}: {dropped.reason}")
    for warning in plan.warnings:
        print(f"warning: {warning}")
    for dataset_id, column in sorted(plan.event_identities.items()):
        print(once_again(dataset_id, named[dataset_id], column))
    print(NOT_IN_THE_BUCKET)
    if version is None:
        print("Nothing was changed; --apply does it.")
    else:
        print(f"Written; readers see it from version {version} on. Deletion is held: run")
        print("`segplane fsck --deep`, then `segplane deletion release`.")


def _as_json(plan: "Rebuild", named: dict[str, str], version: int | None) -> dict[str, object]:
    return {
        "version": version,
        "datasets": [{"id": d, "name": named[d]} for d in plan.dataset_ids],
        "segments": [
            {
                "object_key": entry.segment.key,
                "dataset_id": entry.segment.footer.dataset_id,
                "events": entry.segment.rows,
            }
            for entry in plan.segments
        ],
        "streams": [
            {
                "id": s.stream_id,
                "committed_offset": s.committed_offset,
                "deleted_offset": s.deleted_offset,
                "merged_offsets": {e.dataset_id: e.merged_offset for e in s.entries},
            }
            for s in plan.streams
        ],
        "dropped": [{"object_key": entry.key, "reason": entry.reason} for entry in plan.dropped],
        "warnings": list(plan.warnings),
        "event_identities": [
            {
                "dataset_id": dataset_id,
                "name": named[dataset_id],
                "column": column,
                "what_to_do": once_again(dataset_id, named[dataset_id], column),
            }
            for dataset_id, column in sorted(plan.event_identities.items())
        ],
    }
