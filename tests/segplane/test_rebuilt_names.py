"""A catalog that is rebuilt from the bucket has groups, names of datasets and their titles."""

import json
from pathlib import Path
from uuid import uuid4

import pytest

from meta.config import Settings
from meta.v1 import resources_pb2 as pb
from segments import noted_names
from segments.location import StoreLocation
from segments.noted_names import DATASET, GROUP, NotedName
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from segplane.fsck import catalog_check
from segplane.recovery.rebuilt_names import NamesRefused, RebuiltNames, name_all
from tests.segplane.test_catalog_rebuild import on, rebuild, running
from tests.support.meta.dataset_life import rename
from tests.support.meta.groups import create_group, rename_group
from tests.support.meta.noted_names import noting
from tests.support.meta.resources import ResourceDriver
from tests.support.nursery.drivers import CollectorDriver, nursery

KIND_GROUP = pb.RESOURCE_KIND_GROUP


def test_a_rebuild_gives_groups_names_and_titles_back(
    meta_settings: Settings, empty_database_url: str
) -> None:
    with running(meta_settings) as client:
        resources = ResourceDriver(client)
        group, empty = create_group(client, "shop"), create_group(client, "empty")
        web, plain = resources.make("dataset", "shop/clicks"), resources.make("dataset", "plain")
        for dataset in (web, plain):
            CollectorDriver(client, dataset).send("kept")
        nursery(client).cycle()
        resources.update(web, title="Clicks of the shop")
        rename(client, web, "shop/web")
        rename_group(client, "shop", "store")
    with noting(meta_settings) as names:
        names.settle()
        keys = names.object_keys()

    plan = json.loads(rebuild(meta_settings, "--json").stdout)
    done = rebuild(meta_settings, "--apply", "--database-url", empty_database_url)

    assert done.exit_code == 0, done.output
    expected = {web: "store/web", plain: "plain"}
    assert {d["id"]: d["name"] for d in plan["datasets"]} == expected
    assert plan["warnings"] == []
    with running(on(meta_settings, empty_database_url)) as client:
        resources = ResourceDriver(client)
        back = resources.get(web)
        assert (back.name, back.title, back.group_id) == ("web", "Clicks of the shop", group)
        assert resources.get(plain).name == "plain"
        assert {g.id: g.name for g in resources.all(KIND_GROUP)} == {group: "store", empty: "empty"}
        report = catalog_check.check(client, is_deep=True, orphan_age_secs=86_400)
        assert report.violations == []
    # The names are those of the bucket, so nothing is written.
    with noting(meta_settings, database_url=empty_database_url) as names:
        names.settle()
        after = set(names.object_keys())
    # A new default dataset has a name too.
    assert set(keys) <= after
    assert len(after) == len(keys) + 1


def test_of_two_claims_to_one_name_the_older_keeps_it(
    meta_settings: Settings, empty_database_url: str
) -> None:
    with running(meta_settings) as client:
        resources = ResourceDriver(client)
        older = resources.make("dataset", "orders")
        CollectorDriver(client, older).send("of the older")
        with noting(meta_settings) as names:
            names.settle()
            names.run("UPDATE datasets SET deleted_at = now() WHERE id = :id", id=older)
        younger = resources.make("dataset", "orders")
        CollectorDriver(client, younger).send("of the younger")
        nursery(client).cycle()
    with noting(meta_settings) as names:
        names.settle()

    done = rebuild(meta_settings, "--apply", "--database-url", empty_database_url)

    assert done.exit_code == 0, done.output
    assert f"dataset {younger} was named 'orders'" in done.output
    with noting(meta_settings, database_url=empty_database_url) as names:
        shown = {str(i): name for i, name in names.run("SELECT id, name FROM datasets")}
        names.settle()
        noted = {str(i): (number, name.name) for i, (number, name) in names.noted().items()}
    assert shown[older] == "orders"
    assert shown[younger] == f"rebuilt-{younger}"
    # The name that it has now is the next one.
    assert noted[older] == (1, "orders")
    assert noted[younger] == (2, f"rebuilt-{younger}")


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    (tmp_path / "names").mkdir()
    return open_store(StoreLocation.from_url((tmp_path / "names").as_uri()))


def put(store: ObjectStore, kind: str, noted: NotedName | bytes, number: int = 1) -> str:
    entry_id = str(uuid4())
    content = noted if isinstance(noted, bytes) else noted_names.encode(noted)
    store.put_if_absent(noted_names.name_key(kind, entry_id, number), content)
    return entry_id


def shown(names: RebuiltNames) -> dict[str, str]:
    return {str(dataset_id): names.shown(str(dataset_id)) for dataset_id in names.datasets}


def test_names_that_cannot_be_had_are_made_of_the_id(store: ObjectStore) -> None:
    group = put(store, GROUP, NotedName("shop"))
    taken, reserved = (put(store, GROUP, NotedName(name)) for name in ("shop", "Default"))
    damaged = put(store, GROUP, b"damaged")
    web = put(store, DATASET, NotedName("web", "Web", group))
    refused = [
        put(store, DATASET, NotedName("web", "", group)),
        put(store, DATASET, NotedName("shop/slashed")),
        put(store, DATASET, NotedName("of no group", "", str(uuid4()))),
        put(store, DATASET, NotedName("x" * 251, "", group)),
        put(store, DATASET, b"damaged"),
        str(uuid4()),
    ]
    longest = put(store, DATASET, NotedName("x" * 250, "", group))
    moved = put(store, DATASET, NotedName("web", "", damaged))

    names = name_all(store, [web, longest, moved, *refused], {})

    assert {str(i): name.name for i, name in names.groups.items()} == {
        group: "shop",
        **{other: f"rebuilt-{other}" for other in (taken, reserved, damaged)},
    }
    assert shown(names) == {
        web: "shop/web",
        longest: f"shop/{'x' * 250}",
        moved: f"rebuilt-{damaged}/web",
        **{other: f"rebuilt-{other}" for other in refused},
    }
    assert len(names.warnings) == 2 + 4


def test_names_of_the_file_come_first_and_may_name_a_group(store: ObjectStore) -> None:
    group = put(store, GROUP, NotedName("shop"))
    first, second, third = (put(store, DATASET, NotedName(name)) for name in ("a", "b", "c"))
    ids = [first, second, third]

    names = name_all(store, ids, {second: "a", third: "shop/c"})

    assert shown(names) == {first: f"rebuilt-{first}", second: "a", third: "shop/c"}
    assert [str(n.group_id) for n in names.datasets.values() if n.group_id] == [group]
    with pytest.raises(NamesRefused, match="one name"):
        name_all(store, ids, {second: "x", third: "x"})
    with pytest.raises(NamesRefused, match="holds nothing"):
        name_all(store, ids, {str(uuid4()): "x"})


def test_the_highest_number_counts(store: ObjectStore) -> None:
    dataset = put(store, DATASET, NotedName("old"), number=9)
    content = noted_names.encode(NotedName("new"))
    store.put_if_absent(noted_names.name_key(DATASET, dataset, 10), content)

    (name,) = name_all(store, [dataset], {}).datasets.values()

    assert (name.name, name.name_number, name.noted_number) == ("new", 10, 10)
    (name,) = name_all(store, [dataset], {dataset: "given"}).datasets.values()
    assert (name.name, name.name_number, name.noted_number) == ("given", 11, 10)
