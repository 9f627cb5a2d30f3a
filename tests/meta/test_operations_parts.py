"""The parts of OperationsService are joined by inheritance: none may hide a name of another."""

from collections import Counter

from meta.services.operations import OperationsServicer
from meta.v1.operations_pb2_grpc import OperationsServiceServicer


def test_no_part_defines_a_name_of_another() -> None:
    parts = OperationsServicer.__bases__
    names = Counter(name for part in parts for name in vars(part) if not name.startswith("__"))

    assert all(issubclass(part, OperationsServiceServicer) for part in parts)
    assert [name for name, count in names.items() if count > 1 and "_abc" not in name] == []
