"""segplane fsck: compares meta with the object store, and repairs what needs no judgement."""

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from segplane.cli.command import command, group
from segplane.cli.connection import EXIT_REFUSED, usage
from segplane.cli.messages import MetaClient
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.output import Answer, table
from segplane.cli.parameters import Option

if TYPE_CHECKING:
    from segments.store.interface import ObjectStore
    from segplane.fsck import catalog_check as checks
    from segplane.fsck.check_cursor import CatalogCursor
    from segplane.fsck.withheld import Withheld

app = group()
DAY_SECS = 86_400


@command(app, "fsck --deep --cursor position.json")
def fsck(
    client: MetaClient,
    deep: bool = False,
    data: bool = False,
    sample: Annotated[float, Option(min=1e-6, max=1)] = 1.0,
    since: Annotated[int, Option(min=0)] = 0,
    cursor: Path | None = None,
    repair: bool = False,
    orphan_age_secs: Annotated[float, Option(min=0)] = DAY_SECS,
    metrics: Path | None = None,
) -> Answer:
    """Compare meta with the object store. Exit code 1 if anything is wrong.

    Acknowledged records that readers do not see (quarantined, parked, hidden, lost) are counted.

    Without --repair nothing is changed, but for damage that --data finds and meta records. Progress
    is printed on stderr. --repair registers segments that lineage proves, condemns orphans and
    recounts statistics; none of it deletes a record.

    Options:
        deep: Read every segment's footer as well.
        data: Instead, read all stored bytes: against checksums, pages and messages included.
        sample: With --data: share of objects to read.
        since: With --data: only segments registered after this version.
        cursor: File for the position: the same command continues from there.
        repair: Repair what needs no judgement; say what is left to you.
        orphan_age_secs: Age of an orphan. With --repair, a writer that is slower is refused.
        metrics: File for metrics of the check, once it has ended, which a node exporter reads.
    """
    from segplane.cli.commands.repair import fsck_data
    from segplane.fsck.check_cursor import CatalogCursor

    if data and (deep or repair):
        raise usage("--data cannot be combined with --deep or --repair")
    if data:
        answer, problems = fsck_data.run(client, sample, since, cursor)
    else:
        begin = CatalogCursor(orphan_age_secs=int(orphan_age_secs))
        answer, problems = _run(client, begin, cursor, is_deep=deep, is_repair=repair)
    if metrics is not None:
        from segplane.fsck.metrics import write

        write(metrics, "data" if data else "catalog", problems)
    return answer


def _run(
    client: MetaClient,
    begin: "CatalogCursor",
    path: Path | None,
    *,
    is_deep: bool,
    is_repair: bool,
) -> tuple[Answer, dict[str, int]]:
    """Return the answer, and the number of problems by kind."""
    from segplane.cli.commands.repair import fsck_data
    from segplane.fsck import catalog_check as checks
    from segplane.fsck.check_cursor import KEPT_MAX
    from segplane.fsck.kept_files import find_kept
    from segplane.fsck.not_known import add_orphans, find_not_known
    from segplane.fsck.repair import repair
    from segplane.recovery.losses import list_losses

    store, cursor = _check(client, begin, path)
    not_known = find_not_known(client, store, cursor.unknown)
    add_orphans(store, cursor, not_known.garbage_keys)
    report = checks.report_of(cursor)
    if is_deep:
        checks.check_deep(client, store, report)
    repairs = list(repair(client, store, cursor)) if is_repair else []
    losses = list(islice(list_losses(client), KEPT_MAX))
    kept = list(islice(find_kept(client, store), KEPT_MAX))
    withheld = fsck_data.all_withheld(client, store)
    further = cursor.num_unknown - len(cursor.unknown)
    data = {
        **dataclasses.asdict(report),
        "repairs": repairs,
        "losses": losses,
        "kept": kept,
        "not_known": not_known,
        "withheld": withheld,
    }
    text = chain(
        map(_loss_line, losses),
        not_known.lines(),
        (files.line() for files in kept),
        [f"not known: {further} further objects"] * (further > 0),
        _lines(report, repairs, withheld),
    )
    problems = {"violation": report.num_violations, "not_known": not_known.num_at_stake}
    is_wrong = any(problems.values())
    return Answer(data, text, exit_code=EXIT_REFUSED if is_wrong else 0), problems


def _loss_line(loss: "pb.Loss") -> str:
    from segplane.recovery.losses import loss_text

    is_back = loss.HasField("withdrawn_version")
    return f"{'withdrawn' if is_back else 'accepted'} loss: {loss_text(loss)}"


def _check(
    client: MetaClient, begin: "CatalogCursor", path: Path | None
) -> "tuple[ObjectStore, CatalogCursor]":
    """Run the check from its position on; the file goes once it is over."""
    from dataplane.location import ask_location
    from segments.store.open import open_stores
    from segplane.cli.commands.repair import fsck_data
    from segplane.fsck import catalog_check as checks
    from segplane.fsck import check_cursor

    cursor = check_cursor.load(path, begin, ("orphan_age_secs",)) if path else begin
    store = open_stores(ask_location(client, "fsck").stores)
    pace = fsck_data.ProgressPace()

    def keep(cursor: "CatalogCursor") -> None:
        if not pace.is_due():
            return
        if path is not None:
            check_cursor.save(path, cursor)
        print(
            f"{cursor.objects} objects compared, up to {cursor.after_key[:80]!r}:"
            f" {cursor.num_findings} findings",
            file=sys.stderr,
        )

    checks.check_catalog(client, store, cursor, keep)
    if path is not None:
        path.unlink(missing_ok=True)
    return store, cursor


def _lines(
    report: "checks.Report", repairs: Sequence[str], withheld: "Sequence[Withheld]"
) -> Iterator[str]:
    from segplane.fsck.withheld import summary

    violations = [(v.invariant, v.subject, v.message) for v in report.violations]
    if violations:
        yield from table(("invariant", "subject", "what is wrong"), violations)
    for key in [] if repairs else report.orphans:
        yield f"orphan, left to the janitor: {key}"
    yield from repairs
    if report.foreign:
        yield f"{report.foreign} objects bear names that Segplane does not give"
    if report.duplicates:
        yield f"{report.duplicates} records were skipped: they are duplicates of rows"
    for lost in report.lost_deduplication_keys:
        yield lost.line()
    for kind in withheld:
        yield from kind.lines()
    yield (
        f"{report.streams} streams, {report.segments} segments, {report.babies} babies,"
        f" {report.objects} objects, {report.footers} footers: {report.num_violations} violations,"
        f" {report.num_orphans} orphans{summary(withheld)}"
    )
