"""A dataset moves between a folder and each cloud, with credentials of its bucket alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from meta import config
from meta.v1 import operations_pb2 as pb
from segments.errors import StoreUnusable
from segments.location import NamedStore, StoreLocation
from segments.store import credentials
from segments.store.open import open_store
from segplane.read.files.filesystems import filesystem
from tests.support.command_line import RunCommand
from tests.support.object_store import clouds
from tests.support.object_store.moto import fresh_location
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY
from tests.support.placement.two_stores import COLD, Placement

KEYS = f"[default]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n"


def own_file(
    location: StoreLocation, folder: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> StoreLocation:
    """Give a bucket a file of credentials, beside others of the process that it does not take."""
    (folder / "credentials").write_text(text)
    monkeypatch.setenv(credentials.setting_of(location), str(folder / "credentials"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-another-bucket")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("AZURE_STORAGE_KEY", raising=False)
    return location


@pytest.fixture
def versitygw_location(
    versitygw_endpoint: str,
    aws_credentials: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> StoreLocation:
    """Name a bucket whose keys are in a file."""
    return own_file(fresh_location(versitygw_endpoint), tmp_path, KEYS, monkeypatch)


@pytest.fixture
def azure_location(
    azure_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StoreLocation:
    """Name a container whose account's key is in a file."""
    monkeypatch.setenv("AZURE_STORAGE_KEY", clouds.ACCOUNT_KEY)
    location = clouds.azure_location(azure_endpoint)
    return own_file(location, tmp_path, f"{clouds.ACCOUNT_KEY}\n", monkeypatch)


@pytest.fixture(params=["versitygw", "gcs", "azure"])
def cloud(request: pytest.FixtureRequest) -> StoreLocation:
    """Name a bucket of each cloud in turn."""
    location: StoreLocation = request.getfixturevalue(f"{request.param}_location")
    return location


@pytest.fixture
def meta_settings(meta_settings: config.Settings, cloud: StoreLocation) -> config.Settings:
    return replace(meta_settings, named_stores=(NamedStore(COLD, cloud),))


def test_a_dataset_moves_to_a_cloud_and_back(placement: Placement, run: RunCommand) -> None:
    placement.send()
    job = placement.move()
    placement.send()
    assert placement.buckets() == {"objects": 1, COLD: 1}
    placement.check()

    assert placement.finish(job).state == pb.REWRITE_JOB_STATE_DONE
    placement.delete_tombstoned()

    assert placement.buckets() == {COLD: 2}
    placement.check()
    assert run("fsck", "--deep").exit_code == 0
    assert placement.finish(placement.move("")).state == pb.REWRITE_JOB_STATE_DONE
    placement.delete_tombstoned()
    assert placement.buckets() == {"objects": 2}
    placement.check()
    cold = open_store(placement.server.settings.named_stores[0].location)
    assert list(cold.list("dataset/")) == []


def test_readers_take_the_keys_of_a_bucket_from_its_file(
    versitygw_location: StoreLocation,
) -> None:
    open_store(versitygw_location).put_if_absent("x/y", b"content")
    path = f"{versitygw_location.bucket}/{versitygw_location.path}/x/y"

    assert filesystem(versitygw_location).open_input_file(path).read() == b"content"


@pytest.mark.parametrize("text", ["", "[default]\n", "no section", f"[other]\n{KEYS[10:]}"])
def test_a_file_without_keys_is_refused_without_its_content(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = StoreLocation.from_url("s3://Cold-logs.1/p")
    own_file(location, tmp_path, text, monkeypatch)

    with pytest.raises(StoreUnusable, match="SEGPLANE_CREDENTIALS_COLD_LOGS_1 names has no") as e:
        open_store(location).get("x")

    assert str(tmp_path) not in str(e.value)
    (tmp_path / "credentials").unlink()
    with pytest.raises(StoreUnusable, match="cannot be read"):
        open_store(location).get("x")
