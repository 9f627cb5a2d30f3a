"""Refusals of `format("segplane")` by a guarded meta over TLS, a sentence each."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from meta.config import Settings
from meta.process.tls import ServerTls
from meta.roles import Role
from segplane.read import ReadError
from segplane.read.spark.options import SourceOptions
from segplane.read.spark.snapshot import Snapshot, kept
from segplane.read.spark.source import SegplaneSource
from tests.support.certificates import Authority
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "tls")


@pytest.fixture
def server(meta_settings: Settings, authority: Authority) -> Iterator[GuardedServer]:
    files = authority.issue("meta")
    settings = replace(meta_settings, tls=ServerTls(files.cert, files.key, None))
    with guarded(settings, str(authority.ca_file)) as running:
        for name in ("web", "payroll"):
            CatalogDriver(running.admin).dataset(name)
        yield running


def test_a_reader_who_is_turned_away_is_told_why_in_one_sentence(
    server: GuardedServer, authority: Authority, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path / "other", "another authority")
    options = {
        "dataset": "web",
        "metaAddress": server.address,
        "token": server.token(Role.READER, dataset_names=["web"]).plaintext_token,
        "ca": str(authority.ca_file),
    }

    def refusal(**wrong: str) -> str:
        with pytest.raises(ReadError) as refused:
            SegplaneSource(options | wrong).schema()
        return str(refused.value)

    assert len(SegplaneSource(options).schema()) > 10
    for token in ("", "wrong"):
        assert refusal(token=token) == (
            "the call needs `authorization: Bearer <token>` with a valid access token"
            " (UNAUTHENTICATED)"
        )
    assert refusal(dataset="payroll").startswith("there is no dataset 'payroll'")
    assert refusal(ca=str(stranger.ca_file)) == (
        f"the certificate of meta at {server.address} is not signed by the CA given"
        " (option ca or SEGPLANE_META_CA_FILE)"
    )
    missing = tmp_path / "none.pem"
    assert refusal(ca=str(missing)) == (
        f"connection to meta: {missing} cannot be read: No such file or directory"
    )


def test_a_task_without_the_ca_file_says_what_it_cannot_read(
    server: GuardedServer, authority: Authority, meta_settings: Settings, tmp_path: Path
) -> None:
    store = Path("/", meta_settings.location.path)
    store.mkdir(exist_ok=True)
    logs = CatalogDriver(server.admin).dataset("logs")
    SegmentWriter(server.admin, logs, tmp_path).write()
    options = {
        "dataset": "logs",
        "metaAddress": server.address,
        "token": server.token(Role.READER).plaintext_token,
        "ca": str(authority.ca_file),
    }
    source = SegplaneSource(options)
    reader = source.reader(source.schema())
    (partition,) = reader.partitions()

    authority.ca_file.unlink()
    assert sum(len(batch) for batch in reader.read(partition)) == 20
    for file in store.rglob("*.parquet"):
        file.unlink()
    with pytest.raises(ReadError, match=r"\.parquet cannot be read: .*No such file"):
        list(reader.read(partition))


def test_a_task_that_cannot_ask_meta_reads_on(tmp_path: Path) -> None:
    options = SourceOptions(dataset="web", ca=str(tmp_path / "none.pem"))
    snapshot = Snapshot("web", "", 1, "", 0.0, 3, options.bounds(), ())
    # Those of other tests may not have ended yet.
    before = set(threading.enumerate())

    with kept(options, snapshot) as check:
        (renewal,) = (t for t in set(threading.enumerate()) - before if t.name == "segplane-pin")
        # The lease began long ago, so the first renewal is due at once.
        renewal.join(0.5)

        assert renewal.is_alive()
        check()
