"""Reading the body of a gRPC export: slow ones are charged in full, then given up."""

import asyncio
from typing import cast

import pytest

from collector.ingestion import MonthlyUsage, ValidToken
from collector.intake.admission import AdmittedExport
from collector.intake.token_limits import Activities, TokenLimits
from collector.refusal import TOKEN_LIMIT, Refused
from collector.servers.otlp_grpc import Context, ReadTimes, read_in_time
from collector.streams.buffer import MemoryBudget
from meta.errors import Code
from meta.v1.operations_pb2 import DatasetUsage
from segments.signals import TRAITS
from tests.support.collector.seat import run

MIB = 1024 * 1024


class _Stalled:
    """A call whose body never arrives."""

    async def read(self) -> bytes:
        await asyncio.Event().wait()
        raise AssertionError("nothing arrives")


class _Sent(_Stalled):
    """A call whose body is there."""

    async def read(self) -> bytes:
        return b"body"


def admitted(budget: MemoryBudget) -> AdmittedExport:
    """Admit an export of one token."""
    activities = Activities()
    return AdmittedExport(
        "logs",
        "secret",
        ValidToken("a", dict.fromkeys(TRAITS, "d")),
        TokenLimits(0, 10, 8 * MIB),
        MonthlyUsage(DatasetUsage()),
        budget.open("a"),
        activities.of("a"),
        activities,
    )


def read(call: _Stalled, budget: MemoryBudget, times: ReadTimes) -> object:
    """Read a body of at most a MiB; the charge is left as it is then."""

    async def reading() -> object:
        return await read_in_time(cast(Context, call), admitted(budget), MIB, times)

    return run(reading())


def test_a_body_that_does_not_arrive_is_given_up() -> None:
    budget = MemoryBudget(8 * MIB, 8 * MIB)

    with pytest.raises(Refused, match="did not arrive in time") as caught:
        read(_Stalled(), budget, ReadTimes(0.01, 0.02))

    assert caught.value.refusal.code is Code.UNAVAILABLE
    assert budget.size_bytes == MIB, "a slow body is charged as the largest"


def test_a_slow_body_without_room_is_refused_before_it_is_given_up() -> None:
    budget = MemoryBudget(8 * MIB, MIB)
    budget.open("a").grow_to(1)

    with pytest.raises(Refused) as caught:
        read(_Stalled(), budget, ReadTimes(0.01, 3600.0))

    assert caught.value.refusal.reason == TOKEN_LIMIT


def test_reading_a_body_that_is_there_charges_nothing() -> None:
    budget = MemoryBudget(8 * MIB, 8 * MIB)

    assert read(_Sent(), budget, ReadTimes(0.01, 0.02)) == b"body"
    assert budget.size_bytes == 0
