"""A replaced segment does not use the automatic columns that its file has."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from meta.v1 import operations_pb2 as pb
from meta.v1.common_pb2 import KQL_TYPE_STRING, AutomaticColumn
from tests.segplane.test_segment_repairs import damage, forged, path_of, segment_of
from tests.support.command_line import RunCommand
from tests.support.meta.dataset_life import set_settings
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery
from tests.support.schema_violations import seen
from tests.support.visible_segments import find


def test_a_replacement_is_read_by_its_json(
    run: RunCommand, meta_server: MetaServer, tmp_path: Path
) -> None:
    """An altered file may have other attributes than its automatic columns."""
    driver = CollectorDriver(meta_server.client, dataset(meta_server.client))
    columns = [AutomaticColumn(attribute="user.id", type=KQL_TYPE_STRING, written=True)]
    setting = pb.AutomaticColumns(enabled=True, columns=columns)
    set_settings(driver.client, driver.dataset_id, pb.DatasetSettings(automatic_columns=setting))
    driver.send("a")
    nursery(driver.client).cycle()
    segment, key = segment_of(driver, "a")
    file = forged(path_of(driver, key), tmp_path / "forged.parquet")
    damage(path_of(driver, key), offset=1)
    assert automatic_ids(driver) == [[1_000_000]]

    assert run("segments", "replace", segment, str(file), "--accept-altered").exit_code == 0

    assert seen(driver) == ["forged"]
    assert automatic_ids(driver) == [[]]


def test_a_file_whose_attributes_were_altered_beside_their_columns_is_refused(
    run: RunCommand, meta_server: MetaServer, tmp_path: Path
) -> None:
    driver = CollectorDriver(meta_server.client, dataset(meta_server.client))
    columns = [AutomaticColumn(attribute="user.id", type=KQL_TYPE_STRING, written=True)]
    setting = pb.AutomaticColumns(enabled=True, columns=columns)
    set_settings(driver.client, driver.dataset_id, pb.DatasetSettings(automatic_columns=setting))
    driver.send("a")
    nursery(driver.client).cycle()
    segment, key = segment_of(driver, "a")
    table = pq.read_table(path_of(driver, key))
    place = table.schema.get_field_index("attributes")
    texts = pa.array(['{"user.id":"b"}'] * table.num_rows, table.schema.field(place).type)
    file = tmp_path / "altered.parquet"
    pq.write_table(table.set_column(place, table.schema.field(place), texts), file)
    damage(path_of(driver, key), offset=1)

    done = run("segments", "replace", segment, str(file), "--accept-altered")

    assert done.exit_code == 1
    assert "automatic columns of user.id differ" in done.stderr


def automatic_ids(driver: CollectorDriver) -> list[list[int]]:
    return [list(segment.written_facts.automatic_field_ids) for segment in find(driver.client)]
