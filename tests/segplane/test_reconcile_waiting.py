"""Streams that wait for a reconciliation: nobody continues or ends them before it."""

from contextlib import suppress
from pathlib import Path

import pytest

from janitor.jobs import Tools
from meta.config import Settings
from meta.errors import MetaError, StopMismatch
from meta.v1 import catalog_pb2, ingest_token_pb2, ingestion_pb2, nursery_pb2
from segplane.recovery import lost_segments, unknown_babies
from tests.support.meta import backups, rollback
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery
from tests.support.reconciling import (
    run,
    running,
    with_lifetimes,
)
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def _no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collectors of these tests do not write by themselves."""
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)
    monkeypatch.setattr(lost_segments, "_SKEW_NANOS", 0)


def test_streams_wait_while_a_segment_cannot_be_read(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    """It may hold records of babies that are gone, and nothing says of which streams."""
    with running(with_lifetimes(meta_settings)) as tools:
        waiting = CollectorDriver(tools.meta, dataset(tools.meta))
        waiting.send("before")
        nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        before = {info.key for info in tools.store.list("dataset/")}
        waiting.send("after")
        nursery(tools.meta).cycle()
        (key,) = {info.key for info in tools.store.list("dataset/")} - before
        body = tools.store.get(key)
        tools.store.delete([key])
        tools.store.put_if_absent(key, body[:-1] + b"?")
    backups.restore(tmp_path / "dump", empty_database_url)
    with running(with_lifetimes(meta_settings), empty_database_url) as tools:
        waiting.client = tools.meta
        (left,) = run(tools, empty_database_url).streams
        assert (left.stream_id, left.is_known) == (waiting.stream_id, True)
        assert "is left" in left.reason
        info = waiting.info()
        assert info is not None
        assert info.awaits_reconcile

        tools.store.delete([key])

        assert run(tools, empty_database_url).is_complete
        info = waiting.info()
        assert info is not None
        assert not info.awaits_reconcile


def test_no_collector_is_given_its_stream_of_before_and_no_nursery_ends_it(
    meta_settings: Settings, empty_database_url: str
) -> None:
    """The database goes back under a running meta, which compares it before it hands one out."""
    with (
        rollback.scratch_folder() as folder,
        running(with_lifetimes(meta_settings), empty_database_url) as tools,
    ):
        other = CollectorDriver(tools.meta, dataset(tools.meta))
        request = register_request(tools, other.dataset_id)
        before = tools.meta.ingestion.RegisterForStream(request)
        backup = rollback.dump(folder, empty_database_url)
        # The witness knows of it at once, as it does of a commit within seconds.
        revoked = ingest_token_pb2.RevokeIngestTokenRequest(token_id=other.token_id)
        tools.meta.ingest_token.RevokeIngestToken(revoked)
        rollback.restore(folder, backup, empty_database_url)

        replies: list[str] = []
        wait_until(lambda: bool(registered(tools, request, replies)), "meta registers again")

        assert before.stream_id not in replies
        stop = nursery_pb2.MarkStreamStoppedRequest(
            stream_id=before.stream_id, final_offset=-1, reason=nursery_pb2.STOP_REASON_TIMEOUT
        )
        with pytest.raises(StopMismatch, match="catalog reconcile"):
            tools.meta.nursery.MarkStreamStopped(stop)


def register_request(tools: Tools, dataset_id: str) -> ingestion_pb2.RegisterForStreamRequest:
    """A registration with a new token of a dataset."""
    name = tools.meta.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=dataset_id)).name
    create = ingest_token_pb2.CreateIngestTokenRequest(name="registered", dataset_name=name)
    token = tools.meta.ingest_token.CreateIngestToken(create).plaintext_token
    return ingestion_pb2.RegisterForStreamRequest(collector_id="collector", ingest_token=token)


def registered(
    tools: Tools, request: ingestion_pb2.RegisterForStreamRequest, replies: list[str]
) -> list[str]:
    """The streams that were handed out by now."""
    with suppress(MetaError):
        replies.append(tools.meta.ingestion.RegisterForStream(request).stream_id)
    return replies
