"""segplane fsck: compares meta with the object store, and repairs what needs no judgement."""

import dataclasses
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from dataplane.location import ask_location
from meta.client import MetaClient
from segments.errors import StoreError
from segments.store.interface import ObjectStore
from segments.store.open import open_stores
from segplane.cli.commands import fsck_data
from segplane.cli.connection import (
    DEFAULT_ADDRESS,
    EXIT_REFUSED,
    MetaAddress,
    complain,
    connect,
    usage,
)
from segplane.cli.output import message_dict, print_table
from segplane.fsck import catalog_check as checks
from segplane.fsck import check_cursor
from segplane.fsck.check_cursor import KEPT_MAX, CatalogCursor, CursorRefused
from segplane.fsck.kept_files import find_kept
from segplane.fsck.not_known import add_orphans, find_not_known
from segplane.fsck.repair import repair
from segplane.fsck.withheld import Withheld, find_withheld, summary, uncounted_by
from segplane.read.lookup import find_unreadable
from segplane.recovery.losses import list_losses, list_parked, loss_text

DAY_SECS = 86_400
KEEP_EVERY_SECS = 2.0


def fsck(
    deep: Annotated[
        bool, typer.Option("--deep", help="Read every segment's footer as well.")
    ] = False,
    data: Annotated[
        bool,
        typer.Option(
            "--data",
            help="Instead, read all stored bytes: against checksums, pages and messages included.",
        ),
    ] = False,
    sample: Annotated[
        float, typer.Option(min=1e-6, max=1, help="With --data: share of objects to read.")
    ] = 1.0,
    since: Annotated[
        int, typer.Option(min=0, help="With --data: only segments registered after this version.")
    ] = 0,
    cursor: Annotated[
        Path | None,
        typer.Option(help="File for the position: the same command continues from there."),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Repair what needs no judgement; say what is left to you."),
    ] = False,
    orphan_age_secs: Annotated[
        float,
        typer.Option(
            min=0, help="Age of an orphan. With --repair, a writer that is slower is refused."
        ),
    ] = DAY_SECS,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare meta with the object store. Exit code 1 if anything is wrong.

    Acknowledged records that readers do not see (quarantined, parked, hidden, lost) are counted.

    Without --repair nothing is changed, but for damage that --data finds and meta records. Progress
    is printed on stderr. --repair registers segments that lineage proves, condemns orphans and
    recounts statistics; none of it deletes a record.
    """
    if data and (deep or repair):
        raise usage("--data cannot be combined with --deep or --repair")
    with connect(address) as client, _one_line_errors(cursor):
        if data:
            fsck_data.run(client, sample, since, cursor, as_json=as_json)
        else:
            begin = CatalogCursor(orphan_age_secs=int(orphan_age_secs))
            _run(client, begin, cursor, _Options(deep, repair, as_json))


@contextmanager
def _one_line_errors(cursor: Path | None) -> Iterator[None]:
    try:
        yield
    except CursorRefused as error:
        raise usage(str(error)) from None
    except StoreError as error:
        hint = "; the same command continues where it stopped" if cursor else ""
        complain(f"the object store cannot be read: {error}{hint}")
        raise typer.Exit(EXIT_REFUSED) from None


@dataclasses.dataclass(frozen=True, slots=True)
class _Options:
    is_deep: bool
    is_repair: bool
    as_json: bool


def _run(client: MetaClient, begin: CatalogCursor, path: Path | None, options: _Options) -> None:
    store, cursor = _check(client, begin, path)
    not_known = find_not_known(client, store, cursor.unknown)
    add_orphans(store, cursor, not_known.garbage_keys)
    report = checks.report_of(cursor)
    if options.is_deep:
        checks.check_deep(client, store, report)
    lines = list(repair(client, store, cursor)) if options.is_repair else []
    losses = list(islice(list_losses(client), KEPT_MAX))
    kept = list(islice(find_kept(client, store), KEPT_MAX))
    withheld = find_withheld(
        store,
        list_parked(client),
        list_losses(client),
        find_unreadable(client),
        uncounted_by(client),
    )
    if options.as_json:
        more = {
            "repairs": lines,
            "losses": [message_dict(loss) for loss in losses],
            "kept": [dataclasses.asdict(files) for files in kept],
            "not_known": dataclasses.asdict(not_known),
            "withheld": [dataclasses.asdict(kind) for kind in withheld],
        }
        print(json.dumps(dataclasses.asdict(report) | more, indent=2))
    else:
        for loss in losses:
            is_back = loss.HasField("withdrawn_version")
            print(f"{'withdrawn' if is_back else 'accepted'} loss: {loss_text(loss)}")
        for line in (*not_known.lines(), *(files.line() for files in kept)):
            print(line)
        if cursor.num_unknown > len(cursor.unknown):
            print(f"not known: {cursor.num_unknown - len(cursor.unknown)} further objects")
        _print(report, lines, withheld)
    if report.num_violations or not_known.num_at_stake:
        raise typer.Exit(EXIT_REFUSED)


def _check(
    client: MetaClient, begin: CatalogCursor, path: Path | None
) -> tuple[ObjectStore, CatalogCursor]:
    """Run the check from its position on; the file goes once it is over."""
    cursor = check_cursor.load(path, begin, ("orphan_age_secs",)) if path else begin
    store = open_stores(ask_location(client, "fsck").stores)
    checks.check_catalog(client, store, cursor, _Keeper(path).keep)
    if path is not None:
        path.unlink(missing_ok=True)
    return store, cursor


class _Keeper:
    """Writes the position to its file and prints progress, every few seconds."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._kept = time.monotonic()

    def keep(self, cursor: CatalogCursor) -> None:
        """Keep the position, unless that was done just now."""
        if time.monotonic() - self._kept < KEEP_EVERY_SECS:
            return
        self._kept = time.monotonic()
        if self._path is not None:
            check_cursor.save(self._path, cursor)
        print(
            f"{cursor.objects} objects compared, up to {cursor.after_key[:80]!r}:"
            f" {cursor.num_findings} findings",
            file=sys.stderr,
        )


def _print(report: checks.Report, repairs: list[str], withheld: list[Withheld]) -> None:
    violations = [(v.invariant, v.subject, v.message) for v in report.violations]
    if violations:
        print_table(("invariant", "subject", "what is wrong"), violations)
    for key in [] if repairs else report.orphans:
        print(f"orphan, left to the janitor: {key}")
    for line in repairs:
        print(line)
    if report.foreign:
        print(f"{report.foreign} objects bear names that Segplane does not give")
    if report.event_repeats:
        print(f"{report.event_repeats} records were left out: their events are rows already")
    for lost in report.lost_identities:
        print(lost.line())
    for kind in withheld:
        for line in kind.lines():
            print(line)
    print(
        f"{report.streams} streams, {report.segments} segments, {report.babies} babies,"
        f" {report.objects} objects, {report.footers} footers: {report.num_violations} violations,"
        f" {report.num_orphans} orphans{summary(withheld)}"
    )
