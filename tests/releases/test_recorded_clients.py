"""Clients of the release before, made from its descriptors and tokens, before today's meta."""

import re

import grpc
import pytest

from meta.process.setting_names import REMOVED, RENAMED, SHARED
from tests.docs.pages import ROOT
from tests.releases.recorded_catalog import ROLES, Tokens
from tests.releases.recorded_datasets import KEPT
from tests.releases.recorded_run import ADMIN
from tests.support.meta.server import MetaServer
from tests.support.releases.client import DescribedClient
from tests.support.releases.release import RELEASE_BEFORE, Release

# Another role than the owner cannot migrate.
pytestmark = pytest.mark.database_owner
_SETTING = re.compile(r"^\| `([A-Z_]+)`[ ,]", re.MULTILINE)


def test_a_collector_s_calls_are_answered(meta_server: MetaServer, tokens: Tokens) -> None:
    register = {"collector_id": "collector-4", "ingest_token": tokens.ingest["frontend"]}
    with DescribedClient(RELEASE_BEFORE, meta_server.address, tokens.access["ingest"]) as client:
        stream = client.call("IngestionService.RegisterForStream", register)["stream_id"]
        commit = {
            "stream_id": stream,
            "start_time": "1000",
            "end_time": "2000",
            "size_bytes": "1000",
            "num_records": "10",
        }
        for offset in range(2):
            baby = commit | {"committed_offset": str(offset)}
            client.call("IngestionService.CommitOffset", baby)
        with pytest.raises(grpc.RpcError) as refused:
            client.call("IngestionService.CommitOffset", commit | {"committed_offset": "5"})

    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert _committed(meta_server, stream) == 1


def test_a_reader_pages_through_one_version(meta_server: MetaServer, tokens: Tokens) -> None:
    request = {"dataset_names": ["web"], "limit": 3}
    ids: list[str] = []
    versions: set[str] = set()
    with DescribedClient(RELEASE_BEFORE, meta_server.address, tokens.access["reader"]) as client:
        while True:
            reply = client.call("SegmentLookupService.FindSegments", request)
            ids += [segment["id"] for segment in reply["segments"]]
            versions.add(reply["snapshot_version"])
            if "next_cursor" not in reply["page"]:
                break
            request["cursor"] = reply["page"]["next_cursor"]
        everything = client.call("SegmentLookupService.FindSegments", {"dataset_names": ["web"]})

    assert len(ids) > 3
    assert ids == [segment["id"] for segment in everything["segments"]]
    assert len(versions) == 1


def test_recorded_access_tokens_have_their_roles(meta_server: MetaServer, tokens: Tokens) -> None:
    roles = {}
    for name, token in tokens.access.items():
        with DescribedClient(RELEASE_BEFORE, meta_server.address, token) as client:
            try:
                roles[name] = client.call("OperationsService.GetServerState")["caller"]["role"]
            except grpc.RpcError as error:
                roles[name] = error.code()

    refused = {"revoked": grpc.StatusCode.UNAUTHENTICATED}
    assert roles == {role: role for role in ROLES} | {"reader of orders": "reader"} | refused


def test_recorded_ingest_tokens_are_valid_unless_revoked(
    meta_server: MetaServer, tokens: Tokens
) -> None:
    outcomes = {}
    with DescribedClient(RELEASE_BEFORE, meta_server.address, tokens.access["ingest"]) as client:
        for name, token in tokens.ingest.items():
            try:
                request = {"plaintext_token": token}
                client.call("IngestTokenService.ValidateIngestToken", request)
                outcomes[name] = grpc.StatusCode.OK
            except grpc.RpcError as error:
                outcomes[name] = error.code()

    valid, gone = grpc.StatusCode.OK, grpc.StatusCode.UNAUTHENTICATED
    revoked = dict.fromkeys(("old", "revoked", KEPT), gone)
    assert outcomes == dict.fromkeys(tokens.ingest, valid) | revoked


@pytest.mark.parametrize("release", [Release("0.2.0"), RELEASE_BEFORE], ids=lambda r: r.name)
def test_every_setting_of_a_release_is_read_or_named_in_a_warning(release: Release) -> None:
    before = (release.fixtures / "settings.txt").read_text().split()

    # tests/contract/test_settings.py compares the page with what processes read.
    today = _SETTING.findall((ROOT / "docs" / "settings.md").read_text())
    prefixes = ("META_", "COLLECTOR_", "NURSERY_", "MERGE_WORKER_", "GATEWAY_", "JANITOR_")
    own = {prefix + name for prefix in prefixes for name in SHARED}

    assert len(before) > 100
    assert set(before) - {*today, *own, *RENAMED.values(), *REMOVED} == set()


def _committed(meta_server: MetaServer, stream_id: str) -> int:
    with DescribedClient(RELEASE_BEFORE, meta_server.address, ADMIN) as client:
        streams = client.call("NurseryService.GetIngestStreamsForNursery")["streams"]
    (stream,) = (stream for stream in streams if stream["stream_id"] == stream_id)
    return int(stream["committed_offset"])
