"""ExplainMergePlan under the default policy."""

from dataclasses import replace

import pytest

from meta.config import Settings
from meta.errors import CursorInvalid
from meta.planning.planner import Policy
from meta.store.merging import merge_planning
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


def explained_pages(
    writer: Writer, limit: int, dataset_name: str | None = None
) -> list[list[pb.SegmentExplanation]]:
    request = pb.ExplainMergePlanRequest(limit=limit, dataset_name=dataset_name)
    pages = []
    while True:
        reply = writer.client.operations.ExplainMergePlan(request)
        pages.append(list(reply.segments))
        if not reply.next_cursor:
            return pages
        request.cursor = reply.next_cursor


@pytest.mark.parametrize("limit", [1, 7, 50, 51])
def test_pages_explain_every_segment_once_and_as_one_page_does(
    catalog: CatalogDriver, writer: Writer, limit: int
) -> None:
    for days in (0, 1):
        dataset_id = catalog.dataset()
        writer.save_many(dataset_id, POLICY.files_quiet + 1, EPOCH + days * DAY)
        writer.save_many(dataset_id, POLICY.files_quiet, EPOCH + (days + 1) * DAY)
    whole = {e.segment.id: (e.eligibility, e.reason) for e in explain(writer)}

    pages = explained_pages(writer, limit)

    ids = [e.segment.id for page in pages for e in page]
    assert len(ids) == len(set(ids)) == len(whole)
    assert all(len(page) <= limit for page in pages)
    assert {e.segment.id: (e.eligibility, e.reason) for p in pages for e in p} == whole


def test_a_cursor_of_another_dataset_is_refused(catalog: CatalogDriver, writer: Writer) -> None:
    for name in ("one", "two"):
        writer.save_many(catalog.dataset(name), 2)
    request = pb.ExplainMergePlanRequest(limit=1, dataset_name="one")
    cursor = writer.client.operations.ExplainMergePlan(request).next_cursor

    for changes in ({"dataset_name": "two"}, {}):
        with pytest.raises(CursorInvalid):
            explain(writer, cursor=cursor, **changes)
    with pytest.raises(CursorInvalid):
        explain(writer, cursor="no cursor")
    assert len(explain(writer, dataset_name="one", cursor=cursor)) == 1


def test_segments_behind_the_planners_window_are_planned_by_their_own(
    catalog: CatalogDriver, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_planning, "CANDIDATES_MAX", POLICY.files_quiet + 2)
    dataset_id = catalog.dataset()
    writer.save_many(dataset_id, POLICY.files_quiet + 1)
    young = writer.save_many(dataset_id, POLICY.files_quiet + 1, EPOCH + 9 * DAY)

    pages = explained_pages(writer, POLICY.files_quiet + 1)

    eligibility = {e.segment.id: e.eligibility for page in pages for e in page}
    assert {eligibility[i] for i in young} == {pb.MERGE_ELIGIBILITY_TOO_YOUNG}
