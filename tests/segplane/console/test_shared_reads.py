"""Reads of meta that viewers share: one at a time, for five seconds, in bounds."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from meta.client import MetaClient
from meta.errors import NotFound
from segplane.gateway.console.operate.shared_reads import READINGS_MAX, SHARED_SECS, SharedReads
from segplane.gateway.console.viewer import Viewer
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.readers import DatasetScope
from segplane.gateway.http.refusals import NotAllowed, NotThere
from segplane.gateway.queries.service import QueryService


class Catalog:
    """A catalog that counts its reads, and waits until it is told to answer."""

    def __init__(self) -> None:
        self.reads = 0
        self.now = 0.0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.shared = SharedReads(cast(QueryService, self), lambda: self.now)

    async def read_catalog(self, caller: Caller, read: Callable[[MetaClient], Any]) -> Any:
        self.reads += 1
        await self.may_answer.wait()
        return read(cast(MetaClient, None))

    async def ask(self, viewer: Viewer, key: str = "page", **options: bool) -> object:
        return (await self.shared.read(viewer, key, lambda _: self.reads, **options)).value


def viewer(
    name: str,
    role: str = "operator-read",
    ids: frozenset[str] | None = None,
    tenant: str = "",
) -> Viewer:
    return Viewer(Caller(name, "token"), name, rights=(role, DatasetScope(ids, tenant)))


def test_viewers_with_equal_rights_share_a_read_for_five_seconds() -> None:
    async def scenario() -> list[object]:
        catalog = Catalog()
        values = [await catalog.ask(viewer("ada")), await catalog.ask(viewer("ben"))]
        values.append(await catalog.ask(viewer("eve", "reader")))
        values.append(await catalog.ask(viewer("lim", ids=frozenset(["d"]))))
        values.append(await catalog.ask(viewer("ada"), "other"))
        values.append(await catalog.ask(viewer("tom", tenant="//payments")))
        catalog.now += SHARED_SECS
        values.append(await catalog.ask(viewer("ben")))
        return values

    assert asyncio.run(scenario()) == [1, 1, 2, 3, 4, 5, 6]


def test_a_personal_read_is_shared_with_the_same_person_alone() -> None:
    async def scenario() -> list[object]:
        catalog = Catalog()
        people = [viewer("ada"), viewer("ben"), viewer("ada")]
        return [await catalog.ask(person, is_personal=True) for person in people]

    assert asyncio.run(scenario()) == [1, 2, 1]


def test_those_that_ask_at_a_time_wait_for_one_read_even_if_the_first_one_leaves() -> None:
    async def scenario() -> tuple[object, int]:
        catalog = Catalog()
        catalog.may_answer.clear()
        first, second = (asyncio.create_task(catalog.ask(viewer(name))) for name in ("ada", "ben"))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        catalog.may_answer.set()
        return await second, catalog.reads

    assert asyncio.run(scenario()) == (1, 1)


def test_a_refusal_is_not_kept_and_says_which_role_is_needed() -> None:
    def refuse(_: MetaClient) -> None:
        raise NotAllowed("the role reader may not make this call")

    def miss(_: MetaClient) -> None:
        raise NotFound("there is no such stream")

    async def scenario() -> int:
        catalog = Catalog()
        for _ in range(2):
            with pytest.raises(NotAllowed, match="this page needs the role operator-read"):
                await catalog.shared.read(viewer("ada"), "page", refuse)
        with pytest.raises(NotThere, match="no such stream"):
            await catalog.shared.read(viewer("ada"), "page", miss)
        return catalog.reads

    assert asyncio.run(scenario()) == 3


def test_a_bounded_number_of_readings_is_kept() -> None:
    async def scenario() -> list[int]:
        catalog = Catalog()
        for number in range(READINGS_MAX + 1):
            await catalog.ask(viewer("ada"), f"page {number}")
        kept = catalog.reads
        await catalog.ask(viewer("ada"), "page 1")
        await catalog.ask(viewer("ada"), "page 0")
        return [kept, catalog.reads]

    assert asyncio.run(scenario()) == [READINGS_MAX + 1, READINGS_MAX + 2]
