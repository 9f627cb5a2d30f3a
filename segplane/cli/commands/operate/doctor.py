"""segplane doctor: an examination of the installation, and a bundle for support."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from segplane.cli.command import command, group
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, open_client, usage
from segplane.cli.output import Answer, plain, table
from segplane.cli.parameters import Option

if TYPE_CHECKING:
    from segplane.health.doctor.installation import MetaFacts
    from segplane.health.doctor.verdicts import CheckResult, Diagnosis

app = group()
DatabaseUrl = Annotated[
    str,
    Option(envvar="META_DATABASE_URL", help="libpq URL of meta's database, which is checked too."),
]
Bundle = Annotated[
    Path | None,
    Option("--bundle", metavar="FILE", help="Write a ZIP file for support, without secrets."),
]


@command(app, "doctor --bundle segplane-support.zip")
def doctor(
    meta_address: MetaAddress = DEFAULT_ADDRESS,
    database_url: DatabaseUrl = "",
    bundle: Bundle = None,
) -> Answer:
    """Check the installation, and say what to do.

    It checks meta, the processes that report and their ports, the database, the bucket, and this
    machine. A check that its credentials do not allow is unknown, and names what is missing. The
    exit code is 1 if a person is needed, and 0 with warnings. To check the bucket it writes one
    small object, as every process does when it starts.
    """
    from segplane.health.doctor import installation
    from segplane.health.doctor.verdicts import Diagnosis

    with open_client(meta_address) as client:
        checks, facts = installation.examine(client, meta_address)
    checks += [*_database(database_url), *_bucket(facts), *_machine(facts)]
    diagnosis = Diagnosis(checks)
    notes = []
    if bundle is not None:
        _write_bundle(bundle, diagnosis, facts, database_url)
        notes.append(f"written: {bundle}; read it before you send it")
    return Answer(_data(diagnosis), _lines(diagnosis), notes, exit_code=int(bool(diagnosis.needs)))


def _database(url: str) -> "Iterator[CheckResult]":
    from segplane.health.doctor import database

    if not url:
        yield database.not_given()
        return
    from meta import migrations
    from meta.errors import Unavailable
    from meta.store.checks import server_facts
    from segplane.health.doctor.verdicts import CheckResult, CheckVerdict

    try:
        facts = server_facts.read(url, migrations.head_revision())
    except ValueError as error:
        raise usage(f"META_DATABASE_URL: {error}") from None
    except Unavailable as error:
        text = f"Postgres at {server_facts.shown_url(url)} cannot be read: {error.message}"
        step = "check the address, the role's password and rights, and that the server runs"
        yield CheckResult(database.AREA, "Postgres", CheckVerdict.NEEDS, text, step)
        return
    yield from database.examine(facts)


def _bucket(facts: "MetaFacts") -> "Iterator[CheckResult]":
    from segplane.health.doctor import bucket
    from segplane.health.doctor.verdicts import unknown

    if facts.stores is None:
        yield unknown(bucket.AREA, "all", "meta does not tell where the objects are")
        return
    yield from bucket.examine(facts.stores, facts.database_time_nanos)


def _machine(facts: "MetaFacts") -> "Iterator[CheckResult]":
    from segplane.health.doctor import machine

    yield from machine.examine(
        facts.database_time_nanos, os.environ.get("SEGPLANE_META_CERT_FILE", "")
    )


def _data(diagnosis: "Diagnosis") -> dict[str, object]:
    needs = [f"{check.area}, {check.name}: {check.text}" for check in diagnosis.needs]
    return {"ok": not needs, "needs": needs, "checks": [asdict(each) for each in diagnosis.checks]}


def _lines(diagnosis: "Diagnosis") -> Iterator[str]:
    yield diagnosis.headline
    yield ""
    rows = [(each.area, each.name, each.verdict, each.text) for each in diagnosis.checks]
    yield from table(("area", "check", "verdict", "found"), rows)
    steps = [each for each in diagnosis.checks if each.next_step]
    if steps:
        yield ""
    for each in steps:
        yield f"{each.area}, {each.name} ({each.verdict}): {each.next_step}"


def _write_bundle(
    path: Path, diagnosis: "Diagnosis", facts: "MetaFacts", database_url: str
) -> None:
    from meta.process.installed import installed_release
    from segplane.health.doctor.bundle import secrets_of, write

    files: dict[str, object] = {
        "doctor.json": _data(diagnosis),
        "release.json": {"release": installed_release()},
    }
    if facts.status is not None:
        files["processes.json"] = [plain(each.process) for each in facts.status.processes]
    write(path, files, secrets_of({**os.environ, "META_DATABASE_URL": database_url}))
