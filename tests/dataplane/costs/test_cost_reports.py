"""Reports of costs: one a minute, repeated until they are answered, added once."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from uuid import uuid4

import pytest

from dataplane.costs.process import Meter
from dataplane.costs.reports import (
    ENTRIES_MAX,
    GIVEN_UP_SECS,
    IDLE_EVERY_SECS,
    CostReports,
)
from meta.client import MetaClient
from meta.config import Settings
from meta.costs.accumulator import Accumulator, Work
from meta.costs.spent import Spent
from meta.roles import Role
from meta.v1 import costs_pb2 as pb
from tests.support.costs import costs
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.cut_proxy import CutProxy, Fault
from tests.support.meta.guarded import guarded
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.one_meta


@dataclass
class Scene:
    """A process that merges, by a clock of its own, and a client that sees its costs."""

    client: MetaClient
    sees: MetaClient
    costs: Accumulator = field(default_factory=Accumulator)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.dataset = CatalogDriver(self.sees).dataset(f"web-{uuid4()}")
        self.reports = CostReports(
            self.client, Work.MERGE, self.costs, Meter(self.costs), lambda: self.now
        )
        # Its start.
        self.reports.report(is_last=True)

    def merged_bytes(self) -> int:
        amounts = costs(self.sees, self.dataset).get(pb.COST_KIND_MERGE, pb.CostAmounts())
        return amounts.bytes

    def charge(self, size_bytes: int) -> None:
        self.costs.charge(Work.MERGE, self.dataset, size_bytes)


@pytest.fixture
def scene(meta_client: MetaClient) -> Scene:
    return Scene(meta_client, meta_client)


@pytest.fixture
def proxy(meta_client: MetaClient) -> Iterator[CutProxy]:
    made = CutProxy(meta_client.target)
    yield made
    made.close()


def test_a_report_is_made_once_a_minute(scene: Scene) -> None:
    seen = []
    for scene.now in (30.0, 60.0, 90.0, 120.0):
        scene.charge(1)
        scene.reports.report_if_due()
        seen.append(scene.merged_bytes())

    assert seen == [0, 2, 2, 4]


def test_idle_time_is_reported_rarely(scene: Scene) -> None:
    def idle_micros() -> int:
        return costs(scene.sees, "")[pb.COST_KIND_MERGE].cpu_micros

    before, seen = idle_micros(), list[bool]()
    for minute in range(1, 12):
        scene.now = minute * 60.0
        # The test spends the time.
        sum(range(100_000))
        scene.reports.report_if_due()
        seen.append(idle_micros() > before)

    assert seen == [False] * 9 + [True] * 2
    assert IDLE_EVERY_SECS == 600


def test_the_shares_add_up_to_what_the_process_measured(scene: Scene) -> None:
    others = [CatalogDriver(scene.client).dataset(f"web-{uuid4()}") for _ in range(2)]

    def cpu_micros() -> int:
        found = (costs(scene.sees, each) for each in ("", scene.dataset, *others))
        return sum(each[pb.COST_KIND_MERGE].cpu_micros for each in found if each)

    # A report looks at the clock first.
    begin = end = time.process_time_ns() // 1_000
    scene.reports.report(is_last=True)
    ledger = cpu_micros()
    for number in range(3):
        if number:
            scene.charge(1_000 * number)
            scene.costs.charge(Work.MERGE, others[0], 333)
            scene.costs.charge_task(Work.MERGE, {others[1]: 77}, Spent())
            until = time.process_time() + 0.3
            while time.process_time() < until:
                pass
        else:
            # Without work, so that nearly nothing of the next intervals counts as idle.
            time.sleep(0.3)
        end = time.process_time_ns() // 1_000
        scene.reports.report(is_last=True)

    spent, shares = end - begin, cpu_micros() - ledger
    assert abs(shares - spent) <= 0.02 * spent
    merged = {
        each: costs(scene.sees, each)[pb.COST_KIND_MERGE] for each in (scene.dataset, *others)
    }
    assert all(amounts.cpu_micros > 0 for amounts in merged.values())


def test_a_report_whose_answer_is_lost_counts_once(
    proxy: CutProxy, meta_client: MetaClient
) -> None:
    with MetaClient(proxy.address) as client:
        scene = Scene(client, meta_client)
        scene.charge(5)
        proxy.fail(Fault.CUT_ONE_WAY)
        scene.reports.report(1.0)
        assert scene.merged_bytes() == 5
        scene.charge(7)
        scene.reports.report(1.0)
        assert scene.merged_bytes() == 5

        proxy.fail(None)
        scene.reports.report()

        assert scene.merged_bytes() == 12
        scene.reports.report()
        assert scene.merged_bytes() == 12


def test_a_report_is_given_up_after_a_day(proxy: CutProxy, meta_client: MetaClient) -> None:
    with MetaClient(proxy.address) as client:
        scene = Scene(client, meta_client)
        proxy.fail(Fault.KILLED)
        scene.charge(5)
        scene.reports.report(0.2)
        scene.charge(7)
        scene.now = GIVEN_UP_SECS + 1.0
        scene.reports.report(0.2)

        proxy.fail(None)
        scene.reports.report()

        assert scene.merged_bytes() == 7


def test_many_datasets_take_several_calls(scene: Scene, meta_server: MetaServer) -> None:
    catalog = CatalogDriver(scene.client)
    names = [f"many-{uuid4()}" for _ in range(2)]
    ids = [catalog.dataset(name) for name in names]
    scene.charge(1)
    for number in range(ENTRIES_MAX):
        scene.costs.charge(Work.MERGE, f"00000000-0000-0000-0000-{number:012d}", 1)
    for dataset_id in ids:
        scene.costs.charge(Work.MERGE, dataset_id, 3)

    scene.reports.report()

    merged = [costs(scene.client, each)[pb.COST_KIND_MERGE].bytes for each in ids]
    assert [*merged, scene.merged_bytes()] == [3, 3, 1]


def test_a_role_that_may_not_report_keeps_nothing(meta_settings: Settings) -> None:
    settings = replace(meta_settings, bind="127.0.0.1:0")
    with guarded(settings) as guard, guard.client(Role.INGEST) as wrong:
        scene = Scene(wrong, guard.admin)
        scene.charge(5)
        scene.reports.report()
        scene.reports.report()

        assert scene.merged_bytes() == 0
        assert not scene.costs.has_datasets(Work.MERGE)
