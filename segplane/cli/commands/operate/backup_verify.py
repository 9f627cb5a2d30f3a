"""segplane backup verify: what a backup and the bucket say of one another."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from segplane.cli.commands.run.running import NamedStoreUrls, StoreUrl
from segplane.cli.connection import EXIT_REFUSED, refusal, usage
from segplane.cli.output import Answer, facts, table, time_text
from segplane.cli.parameters import Option, Positional

if TYPE_CHECKING:
    from segments.location import Stores
    from segplane.backup.verifying import VerifyReport
    from segplane.fsck.not_known import UnknownObjects


def verify(
    folder: Annotated[Path, Positional(metavar="FOLDER")],
    *,
    object_store_url: StoreUrl = "",
    object_stores: NamedStoreUrls = "",
    scratch: Annotated[Path | None, Option(metavar="FOLDER")] = None,
) -> Answer:
    """Restore a backup privately and compare it with the bucket. Exit code 1 if anything is wrong.

    Nothing is changed: the bucket's credentials need the rights to read and list only. A meta that
    refuses every change serves the restored copy on loopback. It prints what the backup does not
    know, as of its time and since.

    Options:
        folder: Folder with `backup.json` and the copy.
        scratch: Folder for the restored database, about three times as large as the copy.
    """
    from meta.errors import MetaError
    from segments.errors import StoreError
    from segments.store.open import open_stores
    from segplane.backup import verifying
    from segplane.backup.manifest import ManifestUnusable
    from segplane.backup.restoring import CopyDamaged
    from segplane.backup.tools import ToolFailed
    from segplane.recovery.reconcile import ReconcileRefused
    from segplane.stack.postgres_folder import PostgresError

    if not object_store_url:
        raise usage("name the bucket: --object-store-url s3://...")
    stores = _stores(object_store_url, object_stores)
    try:
        report = verifying.verify(folder, open_stores(stores), stores, scratch, _say)
    except (ManifestUnusable, CopyDamaged, ToolFailed, ReconcileRefused) as error:
        raise refusal(str(error)) from None
    except (PostgresError, MetaError, StoreError) as error:
        raise refusal(f"the backup was not verified: {error}") from None
    data = {"is_sound": report.is_sound, **asdict(report)}
    return Answer(data, _lines(report), exit_code=0 if report.is_sound else EXIT_REFUSED)


def _stores(object_store_url: str, object_stores: str) -> "Stores":
    from segments.location import StoreLocation, Stores, parse_named_stores

    try:
        return Stores(StoreLocation.from_url(object_store_url), parse_named_stores(object_stores))
    except ValueError as error:
        raise usage(str(error)) from None


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _lines(report: "VerifyReport") -> Iterator[str]:
    manifest, check, back = report.manifest, report.check, report.reconcile
    violations = [(v.invariant, v.subject, v.message) for v in check.violations]
    if violations:
        yield from table(("invariant", "subject", "what is wrong"), violations)
    for missing in back.gone:
        yield (
            f"missing: {missing.segments} of {missing.live_segments} segments of dataset"
            f" {missing.dataset_name}, {missing.records} records"
        )
    streams = [stream for stream in back.streams if not stream.reason]
    yield from facts(
        [
            ("backup", manifest.backup_id),
            ("version", manifest.version),
            ("objects kept until", time_text(manifest.kept_until_nanos)),
            ("segments", check.segments),
            ("footers read", check.footers),
            ("baby segments", check.babies),
            ("violations", check.num_violations),
            ("not known, of its time", _text(report.unknown_before)),
            ("not known, since then", _text(report.unknown_since)),
            ("further unknown objects", report.further_unknown),
            ("a restore brings back", f"{len(streams)} streams"),
            ("with records", sum(stream.records for stream in streams)),
            ("and segments", len(back.segments.returned)),
            ("with records", back.segments.records),
        ]
    )
    yield (
        "Everything that the backup names is in the bucket."
        if report.is_sound
        else "The backup names objects that the bucket does not have as its rows say."
    )


def _text(unknown: "UnknownObjects") -> str:
    babies = unknown.stream_babies + unknown.tail_babies
    records = unknown.stream_records + unknown.tail_records + unknown.segment_records
    return f"{babies} baby segments, {unknown.segments} segments, {records} records"
