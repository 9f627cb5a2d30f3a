"""Refusals of `format("segplane")` by a guarded meta over TLS, a sentence each."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from meta.access import Role
from meta.config import Settings
from meta.process import ServerTls
from segplane.read import ReadError
from segplane.read.spark.source import SegplaneSource
from tests.support.certificates import Authority
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
