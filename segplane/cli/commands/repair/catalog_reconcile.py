"""segplane catalog reconcile: brings back records that a restored database lost."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from segplane.cli.commands.run.running import DatabaseUrl, NamedStoreUrls, StoreUrl
from segplane.cli.connection import EXIT_REFUSED, open_database, usage
from segplane.cli.options import DataDir, Reason
from segplane.cli.output import Answer, AsJson, facts
from segplane.cli.parameters import Option
from segplane.stack.defaults import DEFAULT_DATA_DIR

if TYPE_CHECKING:
    from meta.store.damage.losses import Acceptance
    from segments.store.interface import ObjectStore
    from segplane.recovery.gone_segments import Decision, GoneSegments
    from segplane.recovery.lost_segments import UnclaimedKeys
    from segplane.recovery.reconcile import ReconcileReport

ALL = "all"
NEXT_STEP = """
Nothing is left. Views, schemas, pins, settings and routing that were changed after the backup are
not in the bucket: set them again. Wait until the nurseries have merged what came back
(`segplane streams list`), run `segplane fsck --deep`, then `segplane deletion --release`.
"""


def reconcile(
    is_dry_run: Annotated[bool, Option("--dry-run")] = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    database_url: DatabaseUrl = "",
    object_store_url: StoreUrl = "",
    object_stores: NamedStoreUrls = "",
    deleted: Annotated[list[str] | None, Option(metavar="DATASET")] = None,
    reason: Reason = "deleted after the backup",
    as_json: AsJson = False,
) -> Answer:
    """Bring back objects that a restored database does not know, each record once.

    Run it while the stack runs, before `segplane deletion --release`. It may be stopped and run
    again. On a terminal it asks whether missing objects were deleted on purpose. Exits with 1 while
    something is left.

    Options:
        is_dry_run: Print what would come back; write nothing.
        deleted: A dataset, by name or id, or `all`: its segments that have no objects any more were
            deleted on purpose after the backup. Hides them. May be repeated.
    """
    # Neither pyarrow nor the server's side is part of the `cli` extra.
    from meta import migrations
    from segplane.recovery import reconcile as reconciling
    from segplane.stack.postgres import running_url

    url = database_url or running_url(data_dir / "postgres")
    store = store_of_options(object_store_url, object_stores, data_dir)
    is_asking = sys.stdin.isatty() and not (as_json or is_dry_run)
    with open_database(url) as database:
        migrations.check_release(database)
        report = reconciling.run(
            database,
            store,
            is_dry_run=is_dry_run,
            decide=_decision(deleted or (), is_asking=is_asking),
            acceptance=_acceptance(reason),
            progress=_say,
        )
    return Answer(
        {"dry_run": is_dry_run, **asdict(report)},
        _lines(report, is_dry_run=is_dry_run),
        exit_code=0 if report.is_complete else EXIT_REFUSED,
    )


def store_of_options(object_store_url: str, object_stores: str, data_dir: Path) -> "ObjectStore":
    """Open the stores that a command's options name."""
    from segments.location import StoreLocation, Stores, parse_named_stores
    from segments.store.open import open_stores

    url = object_store_url or (data_dir / "objects").absolute().as_uri()
    try:
        stores = Stores(StoreLocation.from_url(url), parse_named_stores(object_stores))
        return open_stores(stores)
    except ValueError as error:
        raise usage(str(error)) from None


def _decision(accepted: Sequence[str], *, is_asking: bool) -> "Decision":
    """Decide by the options, and on a terminal by a question."""

    def decide(missing: "GoneSegments") -> bool:
        if not {ALL, missing.dataset_id, missing.dataset_name}.isdisjoint(accepted):
            return True
        return is_asking and click.confirm(
            f"{_gone_text(missing)}. Were they deleted on purpose after the backup?", err=True
        )

    return decide


def _gone_text(lost: "GoneSegments") -> str:
    return (
        f"dataset {lost.dataset_name}: {lost.segments} of {lost.live_segments} segments,"
        f" {lost.records} records, have no object any more{', and it is locked' * lost.is_locked}"
    )


def _acceptance(reason: str) -> "Acceptance":
    from meta.store.damage.losses import Acceptance
    from segplane.recovery.losses import acceptance

    return Acceptance(acceptance(reason).actor, reason)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _lines(report: "ReconcileReport", *, is_dry_run: bool) -> Iterator[str]:
    back = [stream for stream in report.streams if not stream.reason]
    blocked = [stream for stream in report.streams if stream.reason]
    segments = report.segments
    new = [*(i for stream in back for i in stream.new_dataset_ids), *segments.new_dataset_ids]
    yield from facts(
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
            ("names that were changed later", len(report.names.different)),
            ("streams left", len(blocked)),
            ("segments left", len(segments.left)),
            ("segments without an object", sum(missing.segments for missing in report.gone)),
            ("tokens revoked again", len(report.revoked)),
        )
    )
    for name in report.names.returned:
        lost = f": another one is called {name.noted_name}" if name.noted_name else ""
        yield (f"{name.kind} {name.id} is called {name.name}{lost}")
    for name in report.names.different:
        yield (f"{name.kind} {name.id} is called {name.name}: it was {name.noted_name} later")
    for stream in blocked:
        yield (
            f"left: stream {stream.stream_id}, {stream.babies} babies,"
            f" {stream.records} records: {stream.reason}"
        )
    for key, reason in sorted(segments.left.items()):
        yield (f"left: {key}: {reason}")
    for missing in report.gone:
        yield (_gone_line(missing, is_dry_run=is_dry_run))
    for dataset in segments.unclaimed:
        yield (_unclaimed_line(dataset))
    for token in report.revoked:
        yield (f"revoked again: {token.kind} token {token.name} ({token.id})")
    if is_dry_run:
        yield ("Nothing was changed.")
    elif report.is_complete:
        yield (NEXT_STEP.strip())


def _unclaimed_line(dataset: "UnclaimedKeys") -> str:
    from segplane.fsck.lost_deduplication_keys import once_again

    if not dataset.is_set:
        return once_again(dataset.dataset_id, dataset.dataset_name, dataset.column)
    return (
        f"dataset {dataset.dataset_id} is deduplicated by column {dataset.column}. Its segments"
        " that come back have no deduplication keys, so a record of them that is sent or merged"
        " again is a second row. Before nurseries start: `segplane datasets deduplication"
        f" --claim-keys {dataset.dataset_name}`"
    )


def _gone_line(missing: "GoneSegments", *, is_dry_run: bool) -> str:
    text = _gone_text(missing)
    if not missing.is_accepted:
        return (
            f"gone: {text}. If they were deleted on purpose: --deleted {missing.dataset_name};"
            " else see `segplane segments replace`"
        )
    if is_dry_run:
        return f"deleted: {text}: they would be hidden"
    whole = f"; `segplane datasets delete {missing.dataset_name}` deletes it again"
    return f"deleted: {text}: they are hidden{whole if missing.is_whole_dataset else ''}"
