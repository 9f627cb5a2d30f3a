"""Pins on the command line: lists for operators, and their release."""

import json

import pytest

from meta.client import MetaClient
from meta.errors import NotFound
from tests.support.command_line import RunCommand
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.pins import PinDriver
from tests.support.meta.server import MetaServer


@pytest.fixture
def pins(meta_client: MetaClient) -> PinDriver:
    for name in ("web", "db"):
        CatalogDriver(meta_client).dataset(name)
    return PinDriver(meta_client)


def test_pins_are_listed_by_dataset_and_owner(run: RunCommand, pins: PinDriver) -> None:
    web, other = pins.take("web"), PinDriver(pins.client, "spark").take("db")

    table = run("pins", "list").stdout.splitlines()
    of_web = json.loads(run("pins", "list", "--dataset", "web", "--json").stdout)
    of_spark = json.loads(run("pins", "list", "--owner", "spark", "--json").stdout)
    none = json.loads(run("pins", "list", "--owner", "spark", "--dataset", "web", "--json").stdout)

    assert len(table) == 3
    assert table[0].split()[:4] == ["ID", "OWNER", "DATASET", "VERSION"]
    assert [pin["id"] for pin in of_web] == [web.id]
    assert [pin["id"] for pin in of_spark] == [other.id]
    assert none == []


def test_more_pins_than_a_page_are_listed(
    run: RunCommand, meta_server: MetaServer, pins: PinDriver
) -> None:
    pins.take("web")
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql(
            "INSERT INTO pins (id, owner, dataset_key, version, expires_at, ends_at,"
            " held_segments, held_bytes) SELECT gen_random_uuid(), owner, dataset_key, version,"
            " expires_at, ends_at, 0, 0 FROM pins, generate_series(1, 1000)"
        )

    listed = json.loads(run("pins", "list", "--json").stdout)

    assert len({pin["id"] for pin in listed}) == 1_001


def test_an_operator_releases_a_pin_and_the_audit_log_has_it(
    run: RunCommand, meta_server: MetaServer, pins: PinDriver
) -> None:
    pin = pins.take("web")

    released = run("pins", "release", pin.id)
    again = run("pins", "release", pin.id)
    with meta_server.running.database.read() as tx:
        noted = tx.exec_driver_sql("SELECT rpc, subject_id, detail FROM audit_log").all()

    assert released.exit_code == 0
    assert again.exit_code == 1
    assert again.stderr == f"error: there is no pin {pin.id}\n"
    assert ("ReleasePin", pin.id, f"owner 'reader', version {pin.version}") in map(tuple, noted)
    with pytest.raises(NotFound):
        pins.renew(pin)
