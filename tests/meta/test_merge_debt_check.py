"""The check of merges that are behind, which a server reports."""

from meta.commits.merge_debts import MergeDebts
from meta.commits.transactions import Transactions
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer

BOUND = 5


def test_a_dataset_that_is_behind_is_named_with_its_segments(meta_server: MetaServer) -> None:
    settings, catalog = meta_server.settings, CatalogDriver(meta_server.client)
    database = meta_server.running.database
    debts = MergeDebts(Transactions(database), BOUND, settings.merge_policy)
    assert debts.check().is_ok
    for name, segments in (("web", BOUND + 1), ("app", BOUND), ("db", BOUND - 1)):
        Writer(meta_server.client).save_many(catalog.dataset(name), segments)

    counted = debts.segments()

    (web,) = (dataset_id for dataset_id, number in counted.items() if number == BOUND + 1)
    check = debts.check()
    assert not check.is_ok
    assert check.text == (
        f"behind: {BOUND + 1} small segments of dataset {web} await a merge, and 1 more datasets"
        " are behind"
    )
