"""A tenant has its part of a collector, however many tokens it has: at each bound and beyond."""

import grpc
import pytest

from collector.fair_queue import QUANTUM_BYTES, FairQueue, Sender
from collector.ingestion import MonthlyUsage
from collector.intake.quotas import Allowance
from collector.intake.token_limits import TokenActivity, TokenLimits
from collector.refusal import TOKEN_LIMIT, Refused
from collector.streams.buffer import Charge, MemoryBudget
from meta.errors import Code
from meta.v1 import operations_pb2 as ops
from meta.v1 import resources_pb2
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.process import StartCollector
from tests.support.collector.refusals import refusal


def test_the_tokens_of_a_tenant_have_the_memory_of_one_together() -> None:
    budget = MemoryBudget(10_000, 6_000)

    def open_charge(token_id: str) -> Charge:
        return Charge(budget, token_id, 6_000, "payments", 5_000)

    first, second = open_charge("a"), open_charge("b")
    first.grow_to(3_000)
    second.grow_to(2_000)
    with pytest.raises(Refused, match="tenant has too many bytes") as refused:
        open_charge("c").grow_to(1)
    budget.open("other").grow_to(5_000)

    assert refused.value.refusal.code is Code.RESOURCE_EXHAUSTED
    assert refused.value.refusal.reason == TOKEN_LIMIT
    taken = first.take_over()
    taken.release()
    open_charge("c").grow_to(1)
    second.release()
    assert set(budget.sizes) == {"payments", "c", "other"}


def test_the_exports_and_the_rate_of_a_tenant_are_bounded() -> None:
    limits, activity = TokenLimits(1_000, 2, 10**6), TokenActivity()
    activity.in_flight = 1
    activity.require(limits, 100.0, "tenant")
    activity.in_flight = 2
    with pytest.raises(Refused, match="tenant has too many exports in flight"):
        activity.require(limits, 100.0, "tenant")
    activity.in_flight = 1
    activity.count(2_000, limits, 100.0)
    with pytest.raises(Refused, match="tenant sends more than 1000 bytes a second"):
        activity.require(limits, 100.0, "tenant")


def test_many_tokens_of_a_tenant_have_the_turns_of_one() -> None:
    queue = FairQueue[str]()
    for number in range(50):
        queue.push(Sender(f"t{number}", "payments"), "hostile", QUANTUM_BYTES)
    for _ in range(10):
        queue.push(Sender("shop"), "neighbour", QUANTUM_BYTES)

    order = [queue.pop() for _ in range(20)]

    assert abs(order.count("neighbour") - 10) <= 1
    assert queue.num_lanes <= 2


def test_the_tokens_of_a_tenant_share_its_turns_equally() -> None:
    queue = FairQueue[str]()
    for token_id, number in (("busy", 40), ("small", 4)):
        for _ in range(number):
            queue.push(Sender(token_id, "payments"), token_id, QUANTUM_BYTES)

    order = [queue.pop() for _ in range(10)]
    assert order.count("small") == 4
    while queue:
        assert queue.next_token() == "busy"
        queue.pop()


@pytest.mark.parametrize(("records", "is_spent"), [(9, False), (10, True)])
def test_a_tenant_that_had_its_records_has_no_more_in_any_dataset(
    records: int, is_spent: bool
) -> None:
    share = ops.IngestShare(tenant_id="t", percent=50, records_limit=10, records=records)
    usage = ops.DatasetUsage(dataset_id="d", limit=-1, tenant=share)

    allowance = Allowance(MonthlyUsage(usage), 0.0)

    assert allowance.is_spent is is_spent


def _give(ground: Ground, *tokens: GroundToken) -> None:
    """Give the datasets of tokens to a tenant, behind the back of meta."""
    with ground.meta.running.database.write() as tx:
        tx.exec_driver_sql("INSERT INTO tenants (id, name) VALUES (gen_random_uuid(), 'payments')")
        for token in tokens:
            tx.exec_driver_sql(
                "UPDATE datasets SET tenant_key = (SELECT key FROM tenants WHERE name = 'payments')"
                " WHERE id = %s",
                (token.dataset_id,),
            )


@pytest.mark.long
def test_two_tokens_of_a_tenant_have_its_rate_together(
    ground: Ground, start_collector: StartCollector
) -> None:
    first, second, other = ground.new_token(), ground.new_token(), ground.new_token()
    _give(ground, first, second)
    request = resources_pb2.SetTenantSharesRequest(name="payments", bytes_per_sec=100)
    ground.client.resources.SetTenantShares(request)
    collector = start_collector()

    with collector.stub() as stub:
        stub.export(first.token_secret, log_export("x" * 5_000))
        call = stub.start(second.token_secret, log_export("y"))
        code, details = refusal(call)
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert details == "tenant sends more than 100 bytes a second"
        stub.export(other.token_secret, log_export("z"))
