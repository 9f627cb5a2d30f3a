"""From the wire to a merge task."""

import pytest

from merge_worker.tasks import full_key
from meta.v1.common_pb2 import CloudObjectKey, CloudObjectPrefix


@pytest.mark.parametrize("prefix", ["dataset/x/merged", "dataset/x/merged/"])
def test_prefix_and_key_are_joined_by_one_slash(prefix: str) -> None:
    key = CloudObjectKey(prefix=CloudObjectPrefix(prefix=prefix), key="y.parquet")

    assert full_key(key) == "dataset/x/merged/y.parquet"
