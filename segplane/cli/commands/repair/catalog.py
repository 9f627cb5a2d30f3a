"""segplane catalog: rebuild of a lost database from the bucket, and reconciliation with it."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from meta.process.environment import environment
from segplane.cli.command import command, group
from segplane.cli.commands.repair.catalog_reconcile import reconcile, store_of_options
from segplane.cli.commands.run.running import DatabaseUrl, NamedStoreUrls, StoreUrl
from segplane.cli.connection import open_database, usage
from segplane.cli.options import DataDir
from segplane.cli.output import Answer, facts, size_text, table
from segplane.cli.parameters import Option
from segplane.stack.defaults import DEFAULT_DATA_DIR

if TYPE_CHECKING:
    from segments.rebuild.plan import Rebuild
    from segplane.recovery.rebuilt_names import RebuiltNames

app = group()
command(app, "catalog reconcile --dry-run")(reconcile)
NOT_IN_THE_BUCKET = """
The bucket does not hold the following, which has to be set again: ingest tokens and their routing,
stores of new segments, retention, quotas, weights of sharding fields (only their order is known),
schemas, views, projections and links, and what keeps deduplication. Deleted datasets come back.
Names are those that meta noted in the bucket (--names gives others).
Streams come back stopped: collectors register for new ones.
"""


@command(app, "catalog rebuild --from-bucket --names names.json --apply")
def rebuild(
    from_bucket: bool = False,
    is_applied: Annotated[bool, Option("--apply")] = False,
    names: Path | None = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    database_url: DatabaseUrl = "",
    object_store_url: StoreUrl = "",
    object_stores: NamedStoreUrls = "",
) -> Answer:
    """Recreate datasets, live segments, offsets and checkpoints in an empty database.

    Stop every process first. Prints what it would do; --apply does it. Deletion is held afterwards.

    Options:
        from_bucket: Read segments' footers and baby segments.
        is_applied: Write it; without this, nothing changes.
        names: A JSON file: dataset ids and their names, in place of those in the bucket.
    """
    # Neither pyarrow nor the server's side is part of the `cli` extra.
    from segplane.recovery import rebuild as rebuilding
    from segplane.recovery import rebuilt_names
    from segplane.stack import preflight
    from segplane.stack.postgres import EmbeddedPostgres

    if not from_bucket:
        raise usage("say what to rebuild from: --from-bucket")
    store = store_of_options(object_store_url, object_stores, data_dir)
    plan = rebuilding.read_plan(store)
    given = rebuilt_names.read_names(names) if names else {}
    restored = rebuilt_names.name_all(store, plan.dataset_ids, given)
    version = None
    if is_applied and not plan.dataset_ids:
        raise usage(f"no object of Segplane is in {store.location.url()}")
    if is_applied:
        with contextlib.ExitStack() as exits:
            if not database_url:
                preflight.make_data_dir(data_dir)
                postgres = EmbeddedPostgres(data_dir / "postgres")
                database_url = exits.enter_context(postgres).url
            version = _apply(database_url, plan, restored)
    return Answer(_as_json(plan, restored, version), _lines(plan, restored, version))


def _apply(database_url: str, plan: "Rebuild", names: "RebuiltNames") -> int:
    from segplane.recovery import rebuild as rebuilding

    default = environment("META_").text("DEFAULT_DATASET", "default")
    with open_database(database_url) as database:
        return rebuilding.apply(database, plan, names, default)


def _lines(plan: "Rebuild", names: "RebuiltNames", version: int | None) -> Iterator[str]:
    from segplane.fsck.lost_deduplication_keys import once_again

    segments, rows, sizes = Counter[str](), Counter[str](), Counter[str]()
    for live in plan.segments:
        segments[live.footer.dataset_id] += 1
        rows[live.footer.dataset_id] += live.rows
        sizes[live.footer.dataset_id] += live.compressed_size_bytes
    yield from table(
        ("dataset", "name", "segments", "events", "size"),
        [(d, names.shown(d), segments[d], rows[d], size_text(sizes[d])) for d in plan.dataset_ids],
    )
    for dataset_id, spec in sorted(plan.specs.items()):
        if spec.sharding_fields or spec.promoted:
            promoted = ", ".join(column.name for column in spec.promoted)
            sharding = ", ".join(spec.sharding_fields)
            yield (f"{dataset_id}: sharding fields [{sharding}], promoted columns [{promoted}]")
    yield ""
    yield from table(
        ("stream", "dataset", "committed", "merged", "deleted"),
        [
            (s.stream_id, e.dataset_id, s.committed_offset, e.merged_offset, s.deleted_offset)
            for s in plan.streams
            for e in s.entries
        ],
    )
    yield ""
    reasons = Counter(dropped.reason.split(":")[0] for dropped in plan.dropped)
    yield from facts(
        [
            ("datasets", len(plan.dataset_ids)),
            ("groups", len(names.groups)),
            ("live segments", len(plan.segments)),
            ("streams", len(plan.streams)),
            ("babies not reaped", sum(len(s.babies) for s in plan.streams)),
            *((f"not live, {reason}", count) for reason, count in sorted(reasons.items())),
        ]
    )
    for dropped in plan.dropped:
        if dropped.reason.startswith(("foreign", "unreadable")):
            yield (f"skipped: {dropped.key}: {dropped.reason}")
    yield from (f"warning: {warning}" for warning in (*plan.warnings, *names.warnings))
    for dataset_id, column in sorted(plan.deduplication_keys.items()):
        yield (once_again(dataset_id, names.shown(dataset_id), column))
    yield (NOT_IN_THE_BUCKET)
    if version is None:
        yield ("Nothing was changed; --apply does it.")
    else:
        yield (f"Written; readers see it from version {version} on. Deletion is held: run")
        yield ("`segplane fsck --deep`, then `segplane deletion --release`.")


def _as_json(plan: "Rebuild", names: "RebuiltNames", version: int | None) -> dict[str, object]:
    from segplane.fsck.lost_deduplication_keys import once_again

    return {
        "version": version,
        "datasets": [{"id": d, "name": names.shown(d)} for d in plan.dataset_ids],
        # Read only if it is printed.
        "segments": (
            {
                "object_key": entry.key,
                "dataset_id": entry.footer.dataset_id,
                "events": entry.rows,
            }
            for entry in plan.segments
        ),
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
        "warnings": [*plan.warnings, *names.warnings],
        "deduplication_keys": [
            {
                "dataset_id": dataset_id,
                "name": names.shown(dataset_id),
                "column": column,
                "what_to_do": once_again(dataset_id, names.shown(dataset_id), column),
            }
            for dataset_id, column in sorted(plan.deduplication_keys.items())
        ],
    }
