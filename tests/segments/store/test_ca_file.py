"""The CA of a store, by one variable for our client, the probe and the filesystem of readers."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from segments.errors import StoreError, StoreUnusable
from segments.location import StoreLocation
from segments.store.credentials import CA_FILE
from segments.store.open import open_store
from segplane.read.files.filesystems import filesystem
from tests.support.certificates import Authority
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY, running_versitygw

BUCKET = "telemetry"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "tls")


@pytest.fixture
def location(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> Iterator[StoreLocation]:
    """A bucket of a server whose certificate no public CA has signed."""
    folder = tmp_path / "store"
    (folder / "objects" / BUCKET).mkdir(parents=True)
    for name, value in (("ACCESS_KEY_ID", ACCESS_KEY), ("SECRET_ACCESS_KEY", SECRET_KEY)):
        monkeypatch.setenv(f"AWS_{name}", value)
    with running_versitygw(folder, tls=authority.issue("store")) as url:
        options = urlencode({"endpoint": url, "region": "us-east-1"})
        yield StoreLocation.from_url(f"s3://{BUCKET}/deep?{options}")


def test_a_store_of_a_private_ca_is_written_and_read_by_its_file(
    location: StoreLocation, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CA_FILE, str(authority.ca_file))
    store = open_store(location, is_brief=True)

    store.probe()
    store.put_if_absent("a/b", b"content")

    assert store.get("a/b") == b"content"
    with filesystem(location).open_input_file(f"{BUCKET}/deep/a/b") as file:
        assert file.read() == b"content"


@pytest.mark.long
def test_another_ca_is_not_trusted(
    location: StoreLocation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Authority(tmp_path / "other", "other authority")
    monkeypatch.setenv(CA_FILE, str(other.ca_file))

    with pytest.raises(StoreError, match="certificate"):
        open_store(location, is_brief=True).get("a/b")


def test_a_file_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(CA_FILE, str(tmp_path / "missing.pem"))
    location = StoreLocation.from_url("s3://bucket?endpoint=https://127.0.0.1:1&region=us-east-1")

    with pytest.raises(StoreUnusable, match="cannot be read"):
        open_store(location).get("a")
    with pytest.raises(StoreUnusable, match=CA_FILE):
        filesystem(location)
