"""Life of groups: what keeps a name away, the end of a group, calls at the same time."""

from functools import partial

import psycopg
import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import (
    MetaError,
    NameTaken,
    NotFound,
    QuotaExceeded,
    StillReferenced,
    UpgradeUnfinished,
)
from meta.store.catalog import groups
from meta.store.recovery import name_numbers
from segments.noted_names import GROUP
from tests.meta.test_dataset_names import id_of, version_of
from tests.meta.test_groups import names_of
from tests.meta.test_stream_races import together
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete, rename, undelete
from tests.support.meta.groups import create_group, delete_group, rename_group
from tests.support.meta.noted_names import noting
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer

ROUNDS = 12


def test_a_group_is_deleted_once_nothing_can_come_back_into_it(
    meta_client: MetaClient, catalog: CatalogDriver, meta_server: MetaServer
) -> None:
    assert delete_group(meta_client, "shop") is False
    group = create_group(meta_client, "shop")
    dataset = catalog.dataset("shop/web")
    with pytest.raises(StillReferenced) as live:
        delete_group(meta_client, "shop")
    delete(meta_client, dataset)
    with pytest.raises(StillReferenced) as deleted:
        delete_group(meta_client, "shop")
    undelete(meta_client, dataset)
    rename(meta_client, dataset, "web")

    assert live.value.metadata["blockers"] == "dataset web"
    assert deleted.value.metadata["blockers"] == "deleted dataset web"
    assert delete_group(meta_client, "shop") is True
    assert delete_group(meta_client, "shop") is False
    # Its name is free, for another group.
    assert create_group(meta_client, "shop") != group


def test_a_restored_dataset_finds_its_name_taken(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    create_group(meta_client, "shop")
    first = catalog.dataset("shop/web")
    delete(meta_client, first)
    second = catalog.dataset("shop/web")

    with pytest.raises(NameTaken, match="another dataset"):
        undelete(meta_client, first)
    rename(meta_client, second, "shop/api")

    assert undelete(meta_client, first).name == "shop/web"


def test_a_name_with_a_slash_of_an_earlier_release_stays_and_keeps_its_group_away(
    meta_client: MetaClient, catalog: CatalogDriver, writer: Writer, meta_server: MetaServer
) -> None:
    dataset = catalog.dataset("web")
    keep_name(meta_server, dataset, "shop/old/web")
    segments = writer.save_many(dataset, 1)
    old = version_of(writer)
    create_group(meta_client, "bank")

    assert writer.find_ids("shop/old/web") == segments
    assert id_of(meta_client, "shop/old/web") == catalog.dataset("shop/old/web") == dataset
    for refused in (
        partial(create_group, meta_client, "shop"),
        partial(rename_group, meta_client, "bank", "shop"),
    ):
        with pytest.raises(NameTaken, match="'shop/old/web'"):
            refused()
    # Also while a version that can be read shows it, and while it could come back.
    rename(meta_client, dataset, "bank/web")
    assert id_of(meta_client, "shop/old/web", old) == dataset
    with pytest.raises(NameTaken, match="'shop/old/web'"):
        create_group(meta_client, "shop")
    raise_horizon(meta_server, dataset)
    assert create_group(meta_client, "shop")
    assert catalog.dataset("shop/old")


def test_a_deleted_name_with_a_slash_keeps_its_group_away(
    meta_client: MetaClient, catalog: CatalogDriver, meta_server: MetaServer
) -> None:
    dataset = catalog.dataset("web")
    keep_name(meta_server, dataset, "shop/web")
    delete(meta_client, dataset)
    raise_horizon(meta_server, dataset)

    with pytest.raises(NameTaken, match="'shop/web'"):
        create_group(meta_client, "shop")
    assert undelete(meta_client, dataset).name == "shop/web"


def keep_name(server: MetaServer, dataset: str, name: str) -> None:
    """Give a dataset a name as a release before 0.3.0 did."""
    with psycopg.connect(server.settings.database.url) as connection:
        statement = "UPDATE datasets SET name = %s WHERE id = %s"
        assert connection.execute(statement, (name, dataset)).rowcount == 1


def raise_horizon(server: MetaServer, dataset: str) -> None:
    """End the versions of before, as a deletion of segments does."""
    with psycopg.connect(server.settings.database.url) as connection:
        connection.execute(
            "UPDATE datasets SET deletion_horizon = (SELECT version FROM meta_state) WHERE id = %s",
            (dataset,),
        )


def test_one_group_more_than_the_limit_is_refused(
    meta_client: MetaClient, meta_server: MetaServer
) -> None:
    with psycopg.connect(meta_server.settings.database.url) as connection:
        connection.execute(
            "INSERT INTO groups (id, name) SELECT gen_random_uuid(), 'g' || n"
            " FROM generate_series(2, 10000) n"
        )
    create_group(meta_client, "a")

    with pytest.raises(QuotaExceeded, match="there are 10000 groups already"):
        create_group(meta_client, "c")
    assert create_group(meta_client, "a")
    delete_group(meta_client, "a")
    assert create_group(meta_client, "c")


def test_the_first_group_waits_for_the_end_of_the_upgrade(
    meta_client: MetaClient, meta_server: MetaServer
) -> None:
    with psycopg.connect(meta_server.settings.database.url) as connection:
        connection.execute("UPDATE meta_state SET least_release = NULL")

    with pytest.raises(UpgradeUnfinished, match="segplane migrate --finish"):
        create_group(meta_client, "shop")


def test_two_creations_of_a_group_make_one(meta_client: MetaClient) -> None:
    for number in range(ROUNDS):
        create = partial(create_group, meta_client, f"g{number}")

        first, second = together(create, create)

        assert first == second


def test_a_group_is_deleted_or_has_the_dataset_that_comes_at_the_same_time(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    for number in range(ROUNDS):
        name = f"g{number}"
        create_group(meta_client, name)
        moved = catalog.dataset()

        made, joined, deleted = together(
            partial(catalog.dataset, f"{name}/web"),
            partial(rename, meta_client, moved, f"{name}/moved"),
            partial(delete_group, meta_client, name),
        )

        here = [n for n in names_of(meta_client) if n.startswith(f"{name}/")]
        if deleted is True:
            assert isinstance(made, NotFound)
            assert isinstance(joined, NotFound)
            assert here == []
        else:
            assert isinstance(deleted, StillReferenced)
            expected = {f"{name}/web": made, f"{name}/moved": joined}
            assert here == sorted(n for n, a in expected.items() if isinstance(a, str))


def test_of_two_groups_that_want_one_name_one_gets_it(meta_client: MetaClient) -> None:
    for number in range(ROUNDS):
        for name in ("a", "b"):
            create_group(meta_client, f"{name}{number}")

        answers = together(
            *(partial(rename_group, meta_client, f"{n}{number}", f"c{number}") for n in ("a", "b"))
        )

        assert sum(isinstance(answer, MetaError) for answer in answers) == 1
        assert f"c{number}" in answers


def test_a_name_that_was_written_after_its_group_was_deleted_is_removed(
    meta_settings: Settings,
) -> None:
    with noting(meta_settings) as names:
        group = names.group("shop")
        slept = names.write(lambda tx: name_numbers.due(tx, 10))[0]
        names.write(lambda tx: groups.delete(tx, group))
        assert names.settle() == 0

        assert names.notes.write(names.store, slept)
        names.write(lambda tx: name_numbers.note(tx, {GROUP: {group: slept.number}}))
        assert names.settle() == 1

        assert (names.object_keys(), names.settle()) == ([], 0)
