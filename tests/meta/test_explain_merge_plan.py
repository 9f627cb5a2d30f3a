"""ExplainMergePlan under the default policy."""

from dataclasses import replace

import pytest

from meta.config import Settings
from meta.planner import Policy
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.janitor import explain
from tests.support.meta.segments import DAY, EPOCH, Writer

POLICY = Policy()


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    return replace(meta_settings, merge_policy=POLICY)


def test_segments_of_a_day_that_still_receives_are_explained_as_too_young(
    catalog: CatalogDriver, writer: Writer
) -> None:
    dataset_id = catalog.dataset()
    young = writer.save_many(dataset_id, POLICY.files_quiet + 1)
    few = writer.save_many(dataset_id, POLICY.files_quiet, EPOCH + DAY)

    eligibility = {e.segment.id: e.eligibility for e in explain(writer)}

    assert {eligibility[i] for i in young} == {pb.MERGE_ELIGIBILITY_TOO_YOUNG}
    assert {eligibility[i] for i in few} == {pb.MERGE_ELIGIBILITY_TIER_NOT_FULL}
