"""A reader of a database that was restored is warned until its records are back."""

import warnings
from pathlib import Path

import pytest

from meta.config import Settings
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.operations_pb2 import ReleaseDeletionHoldRequest
from segplane.read import open_dataset
from segplane.read.restores import RecordsAwaitReconcile
from tests.support.meta import backups
from tests.support.nursery.drivers import CollectorDriver, nursery
from tests.support.reconciling import running


def test_a_reader_is_warned_between_a_restore_and_the_release_of_deletion(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    with running(meta_settings) as tools:
        created = tools.meta.catalog.CreateDataset(CreateDatasetRequest(name="web"))
        collector = CollectorDriver(tools.meta, created.id)
        collector.send("before")
        nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        collector.send("after")
        nursery(tools.meta).cycle()
        assert _warned(tools.meta.target, "web") == []

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(meta_settings, empty_database_url) as tools:
        (text,) = _warned(tools.meta.target, "web")
        assert "segplane catalog reconcile" in text
        with warnings.catch_warnings():
            warnings.simplefilter("error", RecordsAwaitReconcile)
            with pytest.raises(RecordsAwaitReconcile):
                open_dataset("web", meta_address=tools.meta.target)
        tools.meta.operations.ReleaseDeletionHold(ReleaseDeletionHoldRequest())
        assert _warned(tools.meta.target, "web") == []


def _warned(address: str, name: str) -> list[str]:
    """Open and close a dataset; return the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        open_dataset(name, meta_address=address).close()
    return [str(each.message) for each in caught if each.category is RecordsAwaitReconcile]
