"""The packages of services export the calls of OperationsService: each of them once."""

from meta.services.operations import PACKAGES
from meta.v1 import operations_pb2


def test_each_call_of_the_contract_is_exported_by_one_package() -> None:
    names = [name for operations in PACKAGES for name in operations]
    service = operations_pb2.DESCRIPTOR.services_by_name["OperationsService"]

    assert sorted(names) == sorted(method.name for method in service.methods)


def test_a_function_has_the_name_of_its_call() -> None:
    names = {
        name: function.__name__ for operations in PACKAGES for name, function in operations.items()
    }

    assert {
        name: function
        for name, function in names.items()
        if function.replace("_", "") != name.lower()
    } == {}
