"""Pins belong to the principal that took them: others do not find them, operators find all."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from meta.config import Settings
from meta.errors import NameTaken, NotFound, QuotaExceeded
from meta.roles import Role
from meta.store.pins.pins import PinLimits
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.pins import PinDriver


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    limits = PinLimits(per_owner=2, total=4)
    with guarded(replace(meta_settings, pins=limits)) as running:
        CatalogDriver(running.admin).dataset("web")
        yield running


@pytest.fixture
def ann(guard: GuardedServer) -> Iterator[PinDriver]:
    with guard.client(Role.READER, "ann") as client:
        yield PinDriver(client, owner="shared name")


@pytest.fixture
def bob(guard: GuardedServer) -> Iterator[PinDriver]:
    with guard.client(Role.READER, "bob") as client:
        yield PinDriver(client, owner="shared name")


def _audited(guard: GuardedServer) -> list[str]:
    request = pb.ListAuditRecordsRequest(rpc="ReleasePin", limit=10)
    return [one.detail for one in guard.admin.operations.ListAuditRecords(request).records]


def test_anothers_pin_is_answered_like_one_that_is_not_there(
    ann: PinDriver, bob: PinDriver
) -> None:
    pin = ann.take()
    never = pb.Pin(id=str(uuid4()))
    messages = set()
    for one in (pin, never):
        with pytest.raises(NotFound) as refused:
            bob.renew(one)
        messages.add(refused.value.message)
        assert not bob.release(one)
        assert not bob.release(one, by_operator=True)

    assert len(messages) == 1
    assert ann.renew(pin).principal == "ann"
    assert ann.release(pin)


def test_anothers_pin_is_not_returned_for_its_id(ann: PinDriver, bob: PinDriver) -> None:
    pin = ann.take()

    with pytest.raises(NameTaken):
        bob.take(pin_id=pin.id)
    (listed,) = ann.list()
    assert ann.take(pin_id=pin.id).id == pin.id == listed.id


def test_readers_list_their_own_pins_and_operators_all(
    guard: GuardedServer, ann: PinDriver, bob: PinDriver
) -> None:
    mine, others = ann.take(), bob.take()
    operator = PinDriver(guard.admin)

    assert [pin.id for pin in ann.list()] == [mine.id]
    assert [pin.id for pin in bob.list(owner="shared name")] == [others.id]
    assert {pin.id for pin in operator.list()} == {mine.id, others.id}
    assert {pin.principal for pin in operator.list()} == {"ann", "bob"}


def test_an_operator_renews_and_ends_any_pin_which_is_audited(
    guard: GuardedServer, ann: PinDriver
) -> None:
    operator = PinDriver(guard.admin)
    pin = ann.take()

    assert operator.renew(pin).principal == "ann"
    assert operator.release(pin)
    assert not ann.release(pin)

    assert _audited(guard) == [f"owner 'shared name', version {pin.version}, principal 'ann'"]


def test_a_rotated_token_goes_on_with_the_pins_of_its_subject(
    guard: GuardedServer, ann: PinDriver
) -> None:
    pin = ann.take()

    with guard.client(Role.READER, "ann") as rotated:
        driver = PinDriver(rotated)
        assert driver.renew(pin).id == pin.id
        assert driver.release(pin)
    assert _audited(guard) == []


def test_a_principal_has_no_more_pins_by_other_names(ann: PinDriver, bob: PinDriver) -> None:
    ann.take()
    ann.take()

    with pytest.raises(QuotaExceeded, match="'ann' has 2 pins"):
        PinDriver(ann.client, owner="another name").take()
    # The name alone is not a reason to refuse another principal.
    assert bob.take()


def test_a_pin_from_before_credentials_goes_on(guard: GuardedServer, ann: PinDriver) -> None:
    pin = ann.take()
    with guard.running.database.write() as tx:
        tx.exec_driver_sql("UPDATE pins SET principal = ''")

    with guard.client(Role.READER, "its own reader") as client:
        reader = PinDriver(client, owner="shared name")
        assert reader.renew(pin).id == pin.id
        assert reader.take(pin_id=pin.id).id == pin.id
        assert reader.list() == []
        assert reader.release(pin)
    assert _audited(guard) == []
