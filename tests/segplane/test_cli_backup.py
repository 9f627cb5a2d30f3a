"""Backups on the command line: a copy that can be restored, its list, its end, its failures."""

import hashlib
import json
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from meta.client import MetaClient
from segplane.stack.postgres import EmbeddedPostgres
from segplane.stack.postgres_folder import choose_user, find_install
from tests.support.command_line import RunCommand
from tests.support.meta import backups
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.kept_backups import BackupDriver
from tests.support.meta.segments import Writer


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """Give the folder of the programs of the running Postgres."""
    return find_install(tmp_path, choose_user(tmp_path)) / "bin"


def test_a_backup_is_copied_listed_restored_and_released(
    run: RunCommand,
    meta_client: MetaClient,
    database_url: str,
    postgres: EmbeddedPostgres,
    administration: psycopg.Connection,
    tools: Path,
    tmp_path: Path,
) -> None:
    writer, dataset = Writer(meta_client), CatalogDriver(meta_client).dataset("web")
    writer.save_many(dataset, 3)
    folder = tmp_path / "backup"
    place = ("--database-url", database_url, "--tools", str(tools))

    created = run("backup", "create", str(folder), "--keep", "7d", "--json", *place)
    again = run("backup", "create", str(folder), *place)

    assert created.exit_code == 0, created.output
    manifest = json.loads((folder / "backup.json").read_text())
    assert json.loads(created.stdout) == manifest
    dump = folder / "database.dump"
    assert hashlib.sha256(dump.read_bytes()).hexdigest() == manifest["sha256"]
    assert dump.stat().st_size == manifest["size_bytes"]
    assert {path.stat().st_mode & 0o77 for path in (folder, dump)} == {0}
    assert again.exit_code == 1
    assert "is not empty" in again.output
    name = f"restored_{uuid4().hex}"
    administration.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    backups.restore(dump, postgres.url_of(name))
    with closing(psycopg.connect(postgres.url_of(name))) as restored:
        row = restored.execute("SELECT version, (SELECT count(*) FROM segments) FROM meta_state")
        assert row.fetchone() == (manifest["version"], 3)
    administration.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))
    (listed,) = json.loads(run("backup", "list", "--json").stdout)
    assert (listed["id"], listed["version"]) == (manifest["backup_id"], str(manifest["version"]))
    assert len(run("backup", "list").stdout.splitlines()) == 2
    assert run("backup", "release", manifest["backup_id"]).exit_code == 0
    assert run("backup", "release", manifest["backup_id"]).exit_code == 1


def test_a_copy_that_fails_keeps_nothing_and_leaves_nothing(
    run: RunCommand, meta_client: MetaClient, database_url: str, tmp_path: Path
) -> None:
    broken = tmp_path / "bin" / "pg_dump"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho half; echo 'connection lost' >&2; exit 3\n")
    broken.chmod(0o755)
    folder = tmp_path / "backup"
    command = ("backup", "create", str(folder), "--database-url", database_url)

    failed = run(*command, "--tools", str(broken.parent))
    missing = run(*command, "--tools", str(tmp_path))

    assert failed.exit_code == 1
    assert "pg_dump ended with 3: connection lost" in failed.output
    assert "pg_dump is not in" in missing.output
    assert not folder.exists()
    assert BackupDriver(meta_client).list() == []
