"""Records a month: a dataset over its limit takes no more, whatever else its token routes to."""

from collections.abc import Sequence
from urllib.request import urlopen

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from collector.ingestion import Ingestion, MonthlyUsage
from collector.intake.quotas import IDLE_SECS, Quotas
from collector.refusal import Refused
from meta.errors import Code
from meta.v1 import catalog_pb2, ingest_token_pb2, operations_pb2, resources_pb2
from tests.support.clock import SettableClock
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.http import PROTOBUF, post
from tests.support.collector.process import StartCollector, Stub
from tests.support.collector.refusals import refusal, retry_after_secs
from tests.support.collector.seat import run
from tests.support.events_once import bind_once, orders
from tests.support.waiting import wait_until

SPENT = grpc.StatusCode.RESOURCE_EXHAUSTED


def set_limit(ground: Ground, dataset_id: str, records_per_month: int) -> None:
    """Give a dataset its own monthly limit."""
    ground.client.operations.SetDatasetSettings(
        operations_pb2.SetDatasetSettingsRequest(
            dataset_id=dataset_id,
            settings=operations_pb2.DatasetSettings(records_per_month=records_per_month),
        )
    )


def export_until_refused(stub: Stub, token: GroundToken, records: int) -> int:
    """Send exports of so many records until one is refused; returns the records acknowledged."""
    taken = 0
    while True:
        ids = [f"{taken + n}" for n in range(records)]
        call = stub.start(token.token_secret, log_export(*ids))
        if call.exception() is not None:
            assert refusal(call)[0] is SPENT, refusal(call)
            return taken
        taken += records


@pytest.mark.one_meta
def test_a_dataset_that_had_its_records_takes_no_more(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    set_limit(ground, token.dataset_id, 25)
    collector = start_collector()

    with collector.stub() as stub:
        # The own count makes this exact: no answer of meta's comes in between.
        assert export_until_refused(stub, token, records=10) == 30
        call = stub.start(token.token_secret, log_export("more"))
        details = dict(call.exception().trailing_metadata())["grpc-status-details-bin"]

    [detail] = status_pb2.Status.FromString(details).details
    info = error_details_pb2.ErrorInfo()
    assert detail.Unpack(info)
    assert (info.reason, info.domain) == ("QUOTA_EXCEEDED", "meta.v1")
    assert retry_after_secs(call) is None
    assert "25 records" in call.exception().details()
    assert len(ground.committed_ids()) == 30


@pytest.mark.long
def test_a_creator_that_had_its_records_has_no_more_in_any_dataset(
    ground: Ground, start_collector: StartCollector
) -> None:
    first, second = ground.new_token(), ground.new_token()
    # The default, which all creators have here.
    request = resources_pb2.SetCreatorQuotaRequest(records_per_month=25)
    ground.client.resources.SetCreatorQuota(request)
    collector = start_collector()

    with collector.stub() as stub:
        assert export_until_refused(stub, first, records=10) == 30
        # It learns of the others within seconds.
        export_until_refused(stub, second, records=1)
        call = stub.start(second.token_secret, log_export("more"))
        assert refusal(call)[0] is SPENT
        assert "has reached the 25 records" in call.exception().details()


def test_a_sender_that_repeats_its_events_reaches_the_limit(
    ground: Ground, start_collector: StartCollector, free_tcp_port: int
) -> None:
    token = ground.new_token()
    bind_once(ground.client, token.dataset_id)
    set_limit(ground, token.dataset_id, 3)
    collector = start_collector(COLLECTOR_METRICS_PORT=str(free_tcp_port))

    with collector.stub() as stub:
        # Each with its own time, so that it is another export with the same event.
        for _ in range(3):
            stub.export(token.token_secret, orders("a"))
        call = stub.start(token.token_secret, orders("a"))

        assert refusal(call)[0] is SPENT
    assert "accepted its 3 records" in call.exception().details()
    assert "duplicates counted" in call.exception().details()
    page = urlopen(f"http://127.0.0.1:{free_tcp_port}/metrics", timeout=5).read().decode()
    assert 'segplane_collector_records_total{signal="logs"} 3.0' in page


@pytest.mark.long
def test_what_another_collector_took_counts_within_five_seconds(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    set_limit(ground, token.dataset_id, 100)
    one, other = start_collector(), start_collector(COLLECTOR_ID="collector-2")
    with one.stub() as stub:
        stub.export(token.token_secret, log_export("first"))
        other.export(token, log_export(*(f"o{n}" for n in range(100))))

        took_secs = wait_until(lambda: is_refused(stub, token), "the quota to be spent")

    assert took_secs <= 6.0


@pytest.mark.one_meta
def test_a_raised_limit_is_noticed_within_five_seconds(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    set_limit(ground, token.dataset_id, 1)
    collector = start_collector()
    with collector.stub() as stub:
        assert export_until_refused(stub, token, records=1) == 1

        set_limit(ground, token.dataset_id, -1)
        took_secs = wait_until(lambda: not is_refused(stub, token), "the quota to be raised")

    assert took_secs <= 6.0


@pytest.mark.one_meta
def test_over_http_it_is_429_and_the_other_signals_go_on(
    ground: Ground, start_collector: StartCollector
) -> None:
    token, other = ground.new_token(), ground.new_token()
    route(ground, token, logs=token.dataset_id, traces=other.dataset_id)
    set_limit(ground, token.dataset_id, 1)
    collector = start_collector()
    headers = {"X-Ingest-Token": token.token_secret, "Content-Type": PROTOBUF}

    answers = [post(collector, log_export(f"{n}"), headers) for n in range(2)]

    assert [answer.status for answer in answers] == [200, 429]
    assert answers[1].retry_after == "3600"
    assert answers[1].error.code == 8
    assert post(collector, b"", headers, "traces").status == 200


def is_refused(stub: Stub, token: GroundToken) -> bool:
    """Whether the dataset is over its limit; an export of nothing is taken and not counted."""
    call = stub.start(token.token_secret, b"")
    return call.exception() is not None and refusal(call)[0] is SPENT


def route(ground: Ground, token: GroundToken, logs: str, traces: str) -> None:
    """Route a token's signals to several datasets."""
    routing = ingest_token_pb2.IngestTokenRouting(logs_dataset_id=logs, traces_dataset_id=traces)
    ground.client.ingest_token.UpdateIngestTokenRouting(
        ingest_token_pb2.UpdateIngestTokenRoutingRequest(token_id=token.token_id, routing=routing)
    )


def test_an_answer_that_ran_out_is_trusted_no_more_while_meta_is_away(ground: Ground) -> None:
    token, clock = ground.new_token(), SettableClock(0.0)
    quotas = Quotas(Ingestion(ground.client, "c"), 5.0, clock)

    async def steps() -> None:
        await quotas.check(token.dataset_id)
        ground.stop_meta()
        clock.now = 4.9
        await quotas.check(token.dataset_id)
        clock.now = 5.0
        with pytest.raises(Refused) as caught:
            await quotas.check(token.dataset_id)
        assert caught.value.refusal.code is Code.UNAVAILABLE
        assert caught.value.refusal.retry_after_secs == 1.0

    run(steps())


class SlowIngestion(Ingestion):
    """Meta's calls, of which one for usage takes so long by the collector's clock."""

    def __init__(self, ground: Ground, clock: SettableClock, seconds: float) -> None:
        super().__init__(ground.client, "c")
        self._clock, self._seconds = clock, seconds

    async def usages(self, dataset_ids: Sequence[str]) -> list[MonthlyUsage]:
        """Answer late."""
        usages = await super().usages(dataset_ids)
        self._clock.now += self._seconds
        return usages


def test_an_answer_that_takes_longer_than_it_is_trusted_counts_for_who_waited(
    ground: Ground,
) -> None:
    token, clock = ground.new_token(), SettableClock(0.0)
    set_limit(ground, token.dataset_id, 10)
    quotas = Quotas(SlowIngestion(ground, clock, 9.0), 5.0, clock)

    async def steps() -> None:
        await quotas.check(token.dataset_id)
        # Within the limit when the export came, and no later count is known.
        quotas.take(token.dataset_id, 10)
        with pytest.raises(Refused):
            quotas.take(token.dataset_id, 1)

    run(steps())


def test_an_export_whose_dataset_was_forgotten_meanwhile_is_sent_again(ground: Ground) -> None:
    token, other, clock = ground.new_token(), ground.new_token(), SettableClock(0.0)
    quotas = Quotas(Ingestion(ground.client, "c"), 5.0, clock)

    async def steps() -> None:
        await quotas.check(token.dataset_id)
        clock.now = IDLE_SECS + 1
        await quotas.check(other.dataset_id)
        with pytest.raises(Refused) as caught:
            quotas.take(token.dataset_id, 1)
        assert caught.value.refusal.code is Code.UNAVAILABLE

    run(steps())


def test_the_last_records_go_to_whoever_takes_them_first(ground: Ground) -> None:
    token = ground.new_token()
    set_limit(ground, token.dataset_id, 10)
    quotas = Quotas(Ingestion(ground.client, "c"), 5.0)

    async def steps() -> None:
        await quotas.check(token.dataset_id)
        first = quotas.take(token.dataset_id, 10)
        with pytest.raises(Refused):
            quotas.take(token.dataset_id, 1)
        first.own_records -= 10  # It was not committed after all.
        quotas.take(token.dataset_id, 10)

    run(steps())


def test_a_deleted_dataset_holds_up_no_other(ground: Ground) -> None:
    gone, token = (
        ground.client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="gone")),
        ground.new_token(),
    )
    ground.client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=gone.id))
    set_limit(ground, token.dataset_id, 0)
    ingestion = Ingestion(ground.client, "c")

    usages = run(ingestion.usages([gone.id, token.dataset_id]))

    assert [(usage.message.dataset_id, usage.message.limit) for usage in usages] == [
        (gone.id, -1),
        (token.dataset_id, -1),
    ]
