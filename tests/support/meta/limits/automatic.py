"""Automatic columns of a dataset and of a segment, and a time adjustment, at a limit."""

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as ops
from tests.support.meta.limits.lists import set_settings
from tests.support.meta.limits.world import Case, World, case_of

AUTOMATIC: dict[str, Case] = {}
of = case_of(AUTOMATIC)


def automatic(world: World, names: list[str]) -> None:
    type_ = common_pb2.KQL_TYPE_LONG
    columns = [
        common_pb2.AutomaticColumn(attribute=name, type=type_, written=True) for name in names
    ]
    set_settings(
        world, ops.DatasetSettings(automatic_columns=ops.AutomaticColumns(columns=columns))
    )


@of("written columns of `SetDatasetSettings.settings.automatic_columns.columns`")
def _(world: World, n: int) -> None:
    automatic(world, [f"{k}" for k in range(n)])


@of("automatic columns that a dataset has or had")
def _(world: World, n: int) -> None:
    for start in range(0, n, 100):
        automatic(world, [f"{k}" for k in range(start, min(n, start + 100))])


@of("`written_facts.automatic_field_ids` of a segment")
def _(world: World, n: int) -> None:
    segment = world.segment()
    segment.written_facts.automatic_field_ids.extend(range(1, n + 1))
    world.writer.save(segment)


@of("days of `DatasetSettings.time_adjustment_nanos`, either way")
def _(world: World, n: int) -> None:
    for days in (n, -n):
        set_settings(world, ops.DatasetSettings(time_adjustment_nanos=days * 86_400 * 10**9))
