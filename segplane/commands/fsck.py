"""segplane fsck: compares meta with the object store."""

import dataclasses
import json
from typing import Annotated

import typer

from segments.errors import StoreError
from segplane import fsck as checks
from segplane.connection import DEFAULT_ADDRESS, EXIT_REFUSED, MetaAddress, complain, connect
from segplane.output import print_table

DAY_SECS = 86_400.0


def fsck(
    deep: Annotated[
        bool, typer.Option("--deep", help="Read every segment's footer as well.")
    ] = False,
    orphan_age_secs: Annotated[
        float,
        typer.Option(
            min=0,
            help="Age from which an object that meta does not know is an orphan.",
        ),
    ] = DAY_SECS,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare meta with the object store; changes nothing. Exit code 1 if anything is wrong."""
    with connect(address) as client:
        try:
            report = checks.check(client, is_deep=deep, orphan_age_secs=orphan_age_secs)
        except StoreError as error:
            complain(f"the object store cannot be read: {error}")
            raise typer.Exit(EXIT_REFUSED) from None
    if as_json:
        print(json.dumps(dataclasses.asdict(report), indent=2))
    else:
        _print(report)
    if report.violations:
        raise typer.Exit(EXIT_REFUSED)


def _print(report: checks.Report) -> None:
    violations = [(v.invariant, v.subject, v.message) for v in report.violations]
    if violations:
        print_table(("invariant", "subject", "what is wrong"), violations)
    for key in report.orphans:
        print(f"orphan, left to the janitor: {key}")
    print(
        f"{report.streams} streams, {report.segments} segments, {report.objects} objects, "
        f"{report.footers} footers: {len(violations)} violations, {len(report.orphans)} orphans"
    )
