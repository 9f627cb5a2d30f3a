"""A backup is verified beside the running installation, which notices nothing of it."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from psycopg import sql

from janitor.jobs import Tools
from meta.client import MetaClient
from meta.config import Settings
from meta.errors import MetaError, RoleRefused
from meta.store.tables import metadata
from meta.v1.catalog_pb2 import CreateDatasetRequest, ListDatasetsRequest
from meta.v1.operations_pb2 import GetServerStateRequest
from segments.location import Stores
from segplane.__main__ import app
from segplane.backup import verifying
from segplane.backup.manifest import read_manifest
from segplane.backup.restoring import check_digest, restored
from segplane.stack.postgres_folder import choose_user, find_install
from tests.support.meta.fuzzing import valid_requests
from tests.support.meta.methods import METHODS
from tests.support.meta.unlocked_calls import READING
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, texts
from tests.support.reconciling import release_and_collect, running, with_lifetimes

pytestmark = pytest.mark.long


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    return with_lifetimes(meta_settings)


def bucket(settings: Settings) -> Mapping[str, bytes]:
    """Return everything in the bucket, the witness of the database included."""
    root = Path("/", settings.location.path)
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def create(tools: Tools, settings: Settings, folder: Path) -> None:
    """Copy the database of a running meta."""
    programs = find_install(folder.parent, choose_user(folder.parent)) / "bin"
    place = ("--database-url", settings.database.url, "--tools", str(programs))
    environment = {"SEGPLANE_META_ADDRESS": tools.meta.target}
    created = CliRunner().invoke(app, ["backup", "create", str(folder), *place], env=environment)
    assert created.exit_code == 0, created.output


def verify(settings: Settings, folder: Path) -> Result:
    """Run the command, without the address of a meta."""
    store = ("--object-store-url", settings.location.url())
    return CliRunner().invoke(app, ["backup", "verify", str(folder), *store, "--json"])


def digests(url: str) -> dict[str, str]:
    """Digest every table."""
    with psycopg.connect(url) as connection:
        return {
            table: str(
                connection.execute(
                    sql.SQL(
                        "SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {} t"
                    ).format(sql.Identifier(table))
                ).fetchone()
            )
            for table in metadata.tables
        }


def is_refused(
    client: MetaClient, method: MethodDescriptor, requests: Mapping[str, Sequence[Message]]
) -> bool:
    """Repeat calls that a running meta answered; true if one of them is refused as a change."""
    name = method.containing_service.name.removesuffix("Service")
    stub = getattr(client, re.sub(r"\B(?=[A-Z])", "_", name).lower())
    if method.client_streaming or method.server_streaming:
        return False
    for request in requests.get(method.name, [GetMessageClass(method.input_type)()]):
        try:
            getattr(stub, method.name)(request, timeout=10.0)
        except RoleRefused:
            return True
        except MetaError:
            continue
    return False


def test_a_backup_of_a_running_installation_is_sound_and_nothing_is_changed(
    meta_settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    with running(meta_settings) as tools:
        collector = CollectorDriver(tools.meta, dataset(tools.meta))
        collector.send("merged")
        nursery(tools.meta).cycle()
        collector.send("waits")
        create(tools, meta_settings, folder)
        # Later everything is merged, and what may be deleted is.
        collector.send("since")
        nursery(tools.meta).cycle()
        release_and_collect(tools)
        before = bucket(meta_settings)

        done = verify(meta_settings, folder)

        assert done.exit_code == 0, done.output
        report = json.loads(done.stdout)
        assert report["is_sound"] is True
        assert report["check"]["segments"] == 1
        assert bucket(meta_settings) == before
        assert not tools.meta.operations.GetServerState(GetServerStateRequest()).deletion_held
        collector.send("after")
        nursery(tools.meta).cycle()
        assert texts(collector) == ["after", "merged", "since", "waits"]


def test_a_missing_object_and_a_damaged_copy_are_named(
    meta_settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    with running(meta_settings) as tools:
        collector = CollectorDriver(tools.meta, dataset(tools.meta))
        collector.send("merged")
        nursery(tools.meta).cycle()
        create(tools, meta_settings, folder)
    (segment,) = Path("/", meta_settings.location.path).rglob("*.parquet")
    segment.unlink()

    missing = verify(meta_settings, folder)

    assert missing.exit_code == 1
    assert json.loads(missing.stdout)["check"]["num_violations"] >= 1
    dump = folder / read_manifest(folder).dump
    content = bytearray(dump.read_bytes())
    content[-1] ^= 1
    dump.write_bytes(content)
    damaged = verify(meta_settings, folder)
    assert damaged.exit_code == 1
    assert "SHA-256" in damaged.output


def test_the_meta_of_an_inspection_reads_and_refuses_every_change(
    meta_settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    with running(meta_settings) as tools:
        requests = valid_requests(tools.meta)
        name = tools.meta.catalog.CreateDataset(CreateDatasetRequest(name="web 2")).name
        create(tools, meta_settings, folder)
    before, manifest = bucket(meta_settings), read_manifest(folder)

    with (
        restored(check_digest(folder, manifest), manifest, None, print) as url,
        verifying.inspected(url, Stores(meta_settings.location)) as client,
    ):
        listed = client.catalog.ListDatasets(ListDatasetsRequest()).items
        with pytest.raises(RoleRefused, match="for inspection"):
            client.catalog.CreateDataset(CreateDatasetRequest(name="app"))
        rows = digests(url)
        refused = {method.name for method in METHODS if is_refused(client, method, requests)}
        assert digests(url) == rows
        assert {"DeleteDataset", "CommitOffset", "CreateBackup", "HoldDeletion"} <= refused
        assert refused.isdisjoint(READING - {"DownloadConfig"})

    assert name in {each.name for each in listed}
    assert bucket(meta_settings) == before
