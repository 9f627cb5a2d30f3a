"""Access of callers without their own keys to a bucket: signatures of reads, nothing else."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from meta.config import Settings
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from segments.keys import baby_key, merged_prefix, new_merged_key
from segments.store.open import open_store
from segplane.gateway.config import load
from segplane.gateway.iceberg.access.access_settings import AccessSettings
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.object_store.moto import fresh_location
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY

TOKEN = "the-token-of-this-gateway"
READ_KEYS = AccessSettings(access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY)
SIGN = "iceberg/v1/namespaces/default/tables/web/sign"
SIGNED_READS = {
    "token": TOKEN,
    "header.X-Iceberg-Access-Delegation": "remote-signing",
    "py-io-impl": "tests.support.gateway.signed_reads.SignedReads",
}
_REFUSED = "only GET and HEAD of objects of this table are signed"


@pytest.fixture
def meta_settings(
    meta_settings: Settings, versitygw_endpoint: str, aws_credentials: None
) -> Settings:
    return replace(meta_settings, location=fresh_location(versitygw_endpoint))


@pytest.fixture
def gateway(meta_server: MetaServer) -> Iterator[GatewayServer]:
    running = GatewayServer(meta_server.address, auth_token=TOKEN, access=READ_KEYS)
    yield running
    running.close()


@pytest.fixture
def base(meta_settings: Settings) -> str:
    """The URL of the store's base path."""
    location = meta_settings.location
    return f"{location.endpoint}/{location.bucket}/{location.path}"


def signed(gateway: GatewayServer, url: str, method: str = "GET", **fields: Any) -> Answer:
    """Ask for a signature."""
    body = {"method": method, "uri": url, "region": "us-east-1", "headers": {}, **fields}
    return gateway.post(SIGN, body, Authorization=f"Bearer {TOKEN}")


def status_of(answer: Answer, method: str) -> int:
    """Send what was signed to the store; returns its status."""
    headers = {name: values[0] for name, values in answer.json["headers"].items()}
    request = Request(answer.json["uri"], method=method, headers=headers)
    try:
        with urlopen(request, timeout=20) as reply:
            return int(reply.status)
    except HTTPError as error:
        return error.code


def stored_segment(settings: Settings, dataset: str) -> str:
    """Return the key of an object of a dataset, which nobody registered."""
    key = new_merged_key(dataset)
    open_store(settings.location).put_if_absent(key, b"segment")
    return key


def object_urls(table: Table, base: str) -> list[str]:
    """The addresses of a table's segments."""
    root = table.metadata.location.partition("/iceberg/")[0]
    return [task.file.file_path.replace(root, base) for task in table.scan().plan_files()]


def test_pyiceberg_reads_with_signatures_and_no_keys(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    for day in range(2):
        segments.write(day=day, rows=5)

    catalog = load_catalog("segplane", type="rest", uri=gateway.uri, **SIGNED_READS)
    for name in ("web", f"web@{catalog.load_table('default.web').metadata.current_snapshot_id}"):
        rows = catalog.load_table(f"default.{name}").scan().to_arrow()
        assert Counter(rows["signal"].to_pylist()) == Counter(one for one, _ in segments.rows)


def test_a_signature_is_for_one_object_and_method(
    gateway: GatewayServer, segments: SegmentWriter, base: str
) -> None:
    for _ in range(2):
        segments.write(rows=5)
    catalog = load_catalog("segplane", type="rest", uri=gateway.uri, **SIGNED_READS)
    first, second = object_urls(catalog.load_table("default.web"), base)

    answer = signed(gateway, first)

    assert answer.headers["cache-control"] == "private"
    assert SECRET_KEY not in str(answer.json["headers"]).replace("Credential=test/", "")
    assert status_of(answer, "GET") == 200
    assert status_of(answer, "HEAD") == status_of(answer, "DELETE") == 403
    moved = replace(answer, body=answer.body.replace(first.encode(), second.encode()))
    assert status_of(moved, "GET") == 403
    assert status_of(signed(gateway, first, "HEAD"), "HEAD") == 200


def test_only_reads_of_the_own_dataset_are_signed(
    gateway: GatewayServer, segments: SegmentWriter, base: str, meta_settings: Settings
) -> None:
    own, other = merged_prefix(segments.dataset), merged_prefix(str(uuid4()))
    segment = stored_segment(meta_settings, segments.dataset)
    for method in ("PUT", "POST", "DELETE", "PATCH", "get", ""):
        assert_refused(signed(gateway, f"{base}/{segment}", method))
    for url in (
        f"{base}/{new_merged_key(other.split('/')[1])}",
        f"{base}/{baby_key(str(uuid4()), 0)}",
        f"{base}/{own}",
        f"{base}/{own}../../{other}x.parquet",
        f"{base}/{segment}?acl",
        f"{base}/{segment}?",
        f"{base}/{segment}#x",
        f"{base}/{segment}/x",
        f"{base}/{segment}%0a",
        f"{base}/{segment}\n",
        f"{base}/{segment.replace('/', '%252F')}",
        f"{base.replace('127.0.0.1', 'localhost')}/{segment}",
        f"{base.replace('http://', 'http://127.0.0.1:1@')}/{segment}",
        f"{base.rpartition('/')[0]}/elsewhere/{segment}",
        f"{base.rpartition('/')[0]}?list-type=2",
        "http://[",
        "",
        "x" * 3_000,
    ):
        assert_refused(signed(gateway, url))
    assert signed(gateway, f"{base}/{segment}").status == 200


def assert_refused(answer: Answer) -> None:
    assert (answer.status, answer.json["error"]["type"]) == (403, "ForbiddenException")
    assert _REFUSED in answer.message


def test_what_makes_no_sense_is_refused_in_a_sentence(
    gateway: GatewayServer, segments: SegmentWriter, base: str
) -> None:
    url = f"{base}/{new_merged_key(segments.dataset)}"
    known = {"Authorization": f"Bearer {TOKEN}"}

    for fields, sentence in (
        ({"uri": 1}, "must be text"),
        ({"headers": [1]}, "headers is not an object"),
        ({"headers": {str(n): ["x"] for n in range(65)}}, "headers is not an object"),
    ):
        answer = signed(gateway, url, **fields)
        assert (answer.status, sentence in answer.message) == (400, True)
    for body in (b"", b"[]", b"{", b"[" * 100_000, b" " * 2**17 + b"{}"):
        assert gateway.post(SIGN, body, **known).status == 400
    assert gateway.post(SIGN, {}).status == 401
    missing = gateway.post(SIGN.replace("/web/", "/none/"), {}, **known)
    assert (missing.status, missing.message) == (404, "there is no table 'none'")


def test_headers_that_a_store_wants_signed_are_signed(
    gateway: GatewayServer, segments: SegmentWriter, base: str, meta_settings: Settings
) -> None:
    url = f"{base}/{stored_segment(meta_settings, segments.dataset)}"
    headers = {
        "X-Amz-Checksum-Mode": ["ENABLED"],
        # Of the AWS SDK for Java.
        "x-amz-te": ["append-md5"],
        "x-amz-security-token": ["of-the-caller"],
        "x-amz-date": ["20010101T000000Z"],
        "x-amz-content-sha256": ["UNSIGNED-PAYLOAD"],
        "Range": ["bytes=0-3"],
    }

    answer = signed(gateway, url, headers=headers).json["headers"]

    # What the caller has already does not come a second time.
    assert set(answer) == {"X-Amz-Date", "Authorization"}
    names = "SignedHeaders=host;x-amz-checksum-mode;x-amz-content-sha256;x-amz-date;x-amz-te,"
    assert names in answer["Authorization"][0]
    assert answer["X-Amz-Date"] != headers["x-amz-date"]


def test_a_gateway_without_keys_for_it_signs_nothing_and_says_so(
    meta_server: MetaServer, segments: SegmentWriter, base: str
) -> None:
    segments.write(rows=5)
    gateway = GatewayServer(meta_server.address, auth_token=TOKEN)
    known = {"Authorization": f"Bearer {TOKEN}", "X-Iceberg-Access-Delegation": "remote-signing"}
    try:
        refused = signed(gateway, f"{base}/{new_merged_key(segments.dataset)}")
        config = gateway.table(**known).json["config"]
        keys = gateway.get("iceberg/v1/namespaces/default/tables/web/credentials", **known)
    finally:
        gateway.close()

    assert (refused.status, "signs no reads" in refused.message) == (403, True)
    assert (keys.status, "gives out no keys" in keys.message) == (403, True)
    assert not any("sign" in name for name in config)


def test_nothing_is_delegated_that_was_not_asked_for(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=5)
    known = {"Authorization": f"Bearer {TOKEN}"}

    plain = gateway.table(**known)
    vended = gateway.table(**known, X_Iceberg_Access_Delegation="vended-credentials")
    signing = gateway.table(
        **known, X_Iceberg_Access_Delegation="vended-credentials, remote-signing"
    )

    assert plain.json["config"] == vended.json["config"]
    assert plain.headers["etag"] == vended.headers["etag"] != signing.headers["etag"]
    assert signing.json["config"]["s3.signer.endpoint"] == SIGN.removeprefix("iceberg/")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"READ_ACCESS_KEY_ID": "id"}, "set together"),
        ({"READ_ACCESS_KEY_ID": "id", "READ_SECRET_ACCESS_KEY": "s"}, "GATEWAY_AUTH_TOKEN"),
        ({"STS_ROLE_ARN": "arn"}, "needs GATEWAY_READ_ACCESS_KEY_ID"),
    ],
    ids=["half", "no token", "no keys"],
)
def test_settings_that_do_not_fit_together_are_refused(
    values: dict[str, str], sentence: str
) -> None:
    environment = {f"GATEWAY_{name}": value for name, value in values.items()}

    with pytest.raises(ConfigError, match=sentence):
        load(Environment("GATEWAY_", environment))
