"""ExplainDataset: the callers that may ask, and what readers are told."""

import pytest

from meta.config import Settings
from meta.errors import RoleRefused
from meta.roles import Role
from meta.self_report import waiting_part
from meta.v1 import ingestion_pb2, operations_pb2
from meta.v1 import status_pb2 as pb
from meta.v1.common_pb2 import WorkerDatasets, WorkerSettings
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import set_settings
from tests.support.meta.explanations import explain, report
from tests.support.meta.guarded import guarded
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import Writer


def test_readers_of_all_datasets_may_ask_and_collectors_may_not(meta_settings: Settings) -> None:
    with guarded(meta_settings) as guard:
        CatalogDriver(guard.admin).dataset("web")
        with guard.client(Role.READER) as reader:
            assert "NO_TOKEN" in explain(reader)
        with guard.client(Role.INGEST) as collector, pytest.raises(RoleRefused):
            explain(collector)
        with (
            guard.client(Role.READER, "limited", dataset_names=["web"]) as limited,
            pytest.raises(RoleRefused),
        ):
            explain(limited)


def test_readers_are_not_told_names_quotas_and_reasons(meta_settings: Settings) -> None:
    with guarded(meta_settings) as guard:
        catalog, operations = CatalogDriver(guard.admin), guard.admin.operations
        web = catalog.dataset("web")
        ingestion = IngestionDriver(guard.admin, "collector")
        stream = ingestion.register(catalog.token(web)).stream_id
        set_settings(guard.admin, web, operations_pb2.DatasetSettings(records_per_month=10))
        ingestion.commit(stream, 0, web)
        operations.ParkStream(
            operations_pb2.ParkStreamRequest(stream_id=stream, offset=0, reason="a secret")
        )
        Writer(guard.admin).save_many(web, 4)
        text = f"{waiting_part(web)}: a secret"
        report(guard.admin, "nursery", checks=[pb.ProcessCheck(name="work", text=text)])
        limits = WorkerSettings(datasets=WorkerDatasets(ids=[catalog.dataset("other")]))
        operations.SetWorkerSettings(
            operations_pb2.SetWorkerSettingsRequest(name="merge_worker/*", settings=limits)
        )
        asked = ingestion_pb2.DownloadConfigRequest(worker_id="merge_worker/a")
        guard.admin.ingestion.DownloadConfig(asked)
        PinDriver(guard.admin).take("web")

        with guard.client(Role.READER) as reader:
            told, shown = explain(guard.admin), explain(reader)

    naming = ["QUOTA_REACHED", "PARKED", "WITHHELD", "WORKERS_LIMITED"]
    assert told.keys() == shown.keys() >= {*naming, "PINNED"}
    assert [bool(told[stage].detail or told[stage].subjects) for stage in naming[1:]] == [True] * 3
    assert [(list(shown[stage].subjects), shown[stage].detail) for stage in naming] == [
        ([], "")
    ] * 4
    assert [shown[stage].amount for stage in naming] == [0, 1, 1, 1]
    assert (told["QUOTA_REACHED"].limit, shown["QUOTA_REACHED"].limit) == (10, 0)
    # Whoever has the id of a pin without a principal can release it.
    assert list(told["PINNED"].subjects) == []
