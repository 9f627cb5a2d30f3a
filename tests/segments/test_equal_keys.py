"""Equal keys of maps and objects in files of others."""

import pyarrow as pa

from segments.foreign import attributes


def test_of_equal_keys_the_first_counts_in_maps_and_in_texts() -> None:
    pairs = [("b", 1), ("a", 2), ("b", 3)]
    maps = pa.array([pairs], pa.map_(pa.string(), pa.int64()))
    nested = pa.array([[pairs]], pa.list_(maps.type))
    texts = pa.array(['{"b": 1, "a": {"c": 2, "c": 3}, "b": 4}'])

    assert attributes.json_values(maps) == [{"b": 1, "a": 2}]
    assert attributes.json_values(nested) == [[{"b": 1, "a": 2}]]
    objects, _ = attributes.parsed_values(texts, dict)
    assert attributes.json_texts(objects).to_pylist() == ['{"b":1,"a":{"c":2}}']
