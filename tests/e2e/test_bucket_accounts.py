"""The whole pipeline in buckets under the policies of docs, every process with its account."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from urllib.request import Request, urlopen

import pytest

from dataplane.processes.children import ChildSpec
from meta.client import MetaClient
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from segments.location import StoreLocation
from segments.store.open import open_store
from segplane.stack.config import StackSettings
from segplane.stack.dev import Stack
from tests.e2e.conftest import PACE
from tests.support.object_store.azure_policed import policed_azure
from tests.support.object_store.clouds import ACCOUNT_KEY
from tests.support.object_store.clouds import BUCKET as CLOUD_BUCKET
from tests.support.object_store.gcs_policed import policed_gcs
from tests.support.object_store.policed import BUCKET, PATH, PolicedBucket, policed_bucket
from tests.support.object_store.policed_cloud import CREATE, DELETE, GET, PolicedCloud
from tests.support.pipeline.reading import find_all
from tests.support.pipeline.sending import GrpcSender, exports, make_records
from tests.support.waiting import wait_until

RECORDS = 400
ROUNDS = 3
# Midday, so that no record crosses into another UTC day.
MIDDAY_NANOS = 1_780_056_000 * 10**9

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

AnyStack = TypeVar("AnyStack", bound=Stack)


class PolicedStack(Stack):
    """A stack whose processes beside meta have their own accounts."""

    bucket: PolicedBucket

    def _spec(self, name: str) -> ChildSpec:
        spec = super()._spec(name)
        own = self.bucket.credentials(name.replace("_", " "))
        return replace(spec, environment={**spec.environment, **own})


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that no later session of tests removes."""
    made = Path(tempfile.mkdtemp(prefix="segplane-e2e-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def bucket(folder: Path) -> Iterator[PolicedBucket]:
    with policed_bucket(folder) as made:
        yield made


class CloudStack(Stack):
    """A stack whose processes reach the store by addresses that allow what each may do."""

    bucket: PolicedCloud

    def _spec(self, name: str) -> ChildSpec:
        spec = super()._spec(name)
        own = {f"{name.upper()}_OBJECT_STORE_URL": self.bucket.url(name.replace("_", " "))}
        return replace(spec, environment={**spec.environment, **own})


@pytest.fixture
def gcs_stack(gcs_endpoint: str, database_url: str, folder: Path) -> Iterator[CloudStack]:
    with policed_gcs(gcs_endpoint) as bucket:
        stack = CloudStack(_settings(folder, database_url, bucket.url("meta"), {}), print)
        stack.bucket = bucket
        yield from _run(stack)


@pytest.fixture
def azure_stack(azure_endpoint: str, database_url: str, folder: Path) -> Iterator[CloudStack]:
    own = {"AZURE_STORAGE_KEY": ACCOUNT_KEY}
    with policed_azure(azure_endpoint) as bucket:
        stack = CloudStack(_settings(folder, database_url, bucket.url("meta"), own), print)
        stack.bucket = bucket
        yield from _run(stack)


@pytest.fixture
def policed_stack(bucket: PolicedBucket, database_url: str, folder: Path) -> Iterator[PolicedStack]:
    url = f"s3://{BUCKET}/{PATH}?endpoint={bucket.url}&region=us-east-1"
    stack = PolicedStack(_settings(folder, database_url, url, bucket.credentials("meta")), print)
    stack.bucket = bucket
    yield from _run(stack)


def _settings(
    folder: Path, database_url: str, object_store_url: str, own: Mapping[str, str]
) -> StackSettings:
    return StackSettings(
        data_dir=folder / "data",
        meta_port=0,
        otlp_grpc_port=0,
        otlp_http_port=0,
        gateway_port=0,
        database_url=database_url,
        object_store_url=object_store_url,
        inherited={
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            **PACE,
            **own,
        },
    )


def _run(stack: AnyStack) -> Iterator[AnyStack]:
    try:
        with stack:
            yield stack
    finally:
        for path in sorted((stack.settings.data_dir / "logs").glob("*.log")):
            print(f"--- {path.name}")
            print("\n".join(path.read_text(errors="replace").splitlines()[-30:]))


def test_every_process_does_its_part_with_the_account_of_its_own(
    policed_stack: PolicedStack, bucket: PolicedBucket
) -> None:
    def keys(root: str) -> set[str]:
        listed = bucket.owner.list_objects_v2(Bucket=BUCKET, Prefix=f"{PATH}/{root}/")
        return {one["Key"] for one in listed.get("Contents", [])}

    _do_every_part(policed_stack, keys)


def test_every_process_does_its_part_in_googles_store_with_its_own_rights(
    gcs_stack: CloudStack, gcs_endpoint: str
) -> None:
    store = open_store(
        StoreLocation.from_url(f"gs://{CLOUD_BUCKET}/{PATH}?endpoint={gcs_endpoint}")
    )

    _do_every_part(gcs_stack, lambda root: {found.key for found in store.list(f"{root}/")})

    _check_used(gcs_stack.bucket)


def test_every_process_does_its_part_in_azures_store_with_its_own_roles(
    azure_stack: CloudStack, azure_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_KEY", ACCOUNT_KEY)
    url = f"az://{CLOUD_BUCKET}/{PATH}?endpoint={azure_endpoint}"
    store = open_store(StoreLocation.from_url(url))

    _do_every_part(azure_stack, lambda root: {found.key for found in store.list(f"{root}/")})

    _check_used(azure_stack.bucket)


def _check_used(bucket: PolicedCloud) -> None:
    assert bucket.refused == []
    # All parts were done, so what the policy allows is what they needed.
    assert {
        ("collector", CREATE, "ingest-stream/"),
        ("nursery", CREATE, "dataset/"),
        ("nursery", DELETE, "ingest-stream/"),
        ("merge worker", CREATE, "dataset/"),
        ("janitor", DELETE, "dataset/"),
        ("gateway", GET, "dataset/"),
    } <= bucket.used


def _do_every_part(stack: Stack, keys: Callable[[str], set[str]]) -> None:
    with MetaClient(stack.settings.meta_address) as client:
        client.catalog.CreateDataset(CreateDatasetRequest(name="web"))
        token = client.ingest_token.CreateIngestToken(
            CreateIngestTokenRequest(name="web", dataset_name="web")
        ).plaintext_token
        sender = GrpcSender(stack.settings.otlp_grpc_address, token)
        for number in range(ROUNDS):
            records = make_records("logs", RECORDS, f"round {number}", MIDDAY_NANOS)
            assert all(sender.send("logs", payload) for _, payload in exports(records))
            merged = (number + 1) * RECORDS
            wait_until(
                lambda merged=merged: (  # type: ignore[misc]
                    sum(one.number_of_events for one in find_all(client, "web")) == merged
                ),
                "the nursery has merged the records",
                tick=stack.check,
                seconds=120,
            )
        # A merge worker merged them, and the janitor deleted what that replaced.
        wait_until(
            lambda: [one.merge_count > 0 for one in find_all(client, "web")] == [True],
            "one segment is left",
            tick=stack.check,
            seconds=120,
        )
        wait_until(
            lambda: len(keys("dataset")) == 1,
            "tombstoned objects are gone",
            tick=stack.check,
            seconds=120,
        )
        # The nursery deletes babies that are merged.
        wait_until(
            lambda: not keys("ingest-stream"), "babies are gone", tick=stack.check, seconds=120
        )
        assert not keys("quarantine")
    query = json.dumps({"query": "web | count", "language": "kql"}).encode()
    request = Request(f"http://{stack.settings.gateway_bind}/v1/query", query)
    request.add_header("Content-Type", "application/json")
    with urlopen(request, timeout=60) as reply:
        assert str(ROUNDS * RECORDS) in reply.read().decode()
