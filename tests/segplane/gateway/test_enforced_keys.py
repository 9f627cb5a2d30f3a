"""Keys that a gateway gives out, at a store that enforces the policy they are made with."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from pyiceberg.catalog import load_catalog

from meta.config import Settings
from segments.keys import new_merged_key, new_table_key
from segments.location import StoreLocation
from segplane.gateway.iceberg.access.access_settings import AccessSettings
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.object_store.minio import MINIO_KEY, MINIO_SECRET, running_minio
from tests.support.object_store.moto import fresh_location

pytestmark = pytest.mark.slow
TOKEN = "the-token-of-this-gateway"
KNOWN = {"Authorization": f"Bearer {TOKEN}", "X-Iceberg-Access-Delegation": "vended-credentials"}
ROLE = "arn:aws:iam::123456789012:role/readers"


@pytest.fixture(scope="module")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_minio(tmp_path_factory.mktemp("minio")) as url:
        yield url


@pytest.fixture
def meta_settings(meta_settings: Settings, minio: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", MINIO_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", MINIO_SECRET)
    return replace(meta_settings, location=fresh_location(minio))


@pytest.fixture
def gateway(meta_server: MetaServer, minio: str) -> Iterator[GatewayServer]:
    access = AccessSettings(MINIO_KEY, MINIO_SECRET, ROLE, minio, 900)
    running = GatewayServer(meta_server.address, auth_token=TOKEN, access=access)
    yield running
    running.close()


def client_with(config: dict[str, str], location: StoreLocation) -> Any:
    """Connect with the keys of a table's configuration."""
    return boto3.client(
        "s3",
        endpoint_url=location.endpoint,
        region_name=location.region,
        aws_access_key_id=config["s3.access-key-id"],
        aws_secret_access_key=config["s3.secret-access-key"],
        aws_session_token=config["s3.session-token"],
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )


def refused(call: Any, **fields: Any) -> bool:
    """True if the store denies the call."""
    try:
        call(**fields)
    except ClientError as error:
        return bool(error.response["ResponseMetadata"]["HTTPStatusCode"] == 403)
    return False


def test_given_keys_read_their_dataset_and_do_nothing_else(
    gateway: GatewayServer, segments: SegmentWriter, meta_server: MetaServer
) -> None:
    segments.write(rows=5)
    location = meta_server.settings.location
    other = CatalogDriver(meta_server.client).dataset("other")
    answer = gateway.table(**KNOWN).json
    given = client_with(answer["config"], location)
    owner = boto3.client("s3", endpoint_url=location.endpoint)
    listed = owner.list_objects_v2(Bucket=location.bucket, Prefix=f"{location.path}/dataset/")
    (own,) = (one["Key"] for one in listed["Contents"])
    metadata = answer["metadata-location"].partition(f"{location.bucket}/")[2]

    for key in (own, metadata):
        assert given.get_object(Bucket=location.bucket, Key=key)["Body"].read(1)
        assert refused(given.put_object, Bucket=location.bucket, Key=key, Body=b"")
        assert refused(given.delete_object, Bucket=location.bucket, Key=key)
    assert refused(given.list_objects_v2, Bucket=location.bucket)
    for key in (
        new_merged_key(other),
        new_table_key(other, 1, "manifest.avro"),
        f"dataset/{segments.dataset}x/merged/{uuid4()}.parquet",
        f"ingest-stream/{uuid4()}/0",
        "probe/x",
    ):
        full = f"{location.path}/{key}"
        owner.put_object(Bucket=location.bucket, Key=full, Body=b"of others")
        assert refused(given.get_object, Bucket=location.bucket, Key=full), key
        assert refused(given.head_object, Bucket=location.bucket, Key=full), key
        assert refused(given.put_object, Bucket=location.bucket, Key=full, Body=b""), key


def test_pyiceberg_reads_with_given_keys_and_none_of_its_own(
    gateway: GatewayServer, segments: SegmentWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments.write(rows=5)
    gateway.table(**KNOWN)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    table = load_catalog("g", type="rest", uri=gateway.uri, token=TOKEN).load_table("default.web")

    assert table.scan().to_arrow().num_rows == 5
