"""The modules of services have the calls of our services: each of them once."""

from collections import Counter
from collections.abc import Sequence
from inspect import getmembers, isfunction
from types import ModuleType
from typing import Any

import pytest

from meta.services.operations import OPERATIONS, RESOURCES
from meta.v1 import operations_pb2, resources_pb2


def rpcs_of(descriptor: Any, service: str) -> list[str]:
    return [method.name for method in descriptor.services_by_name[service].methods]


SERVICES = pytest.mark.parametrize(
    ("modules", "rpcs"),
    [
        (OPERATIONS, rpcs_of(operations_pb2.DESCRIPTOR, "OperationsService")),
        (RESOURCES, rpcs_of(resources_pb2.DESCRIPTOR, "ResourcesService")),
    ],
    ids=["operations", "resources"],
)


@SERVICES
def test_each_call_of_the_contract_is_a_function_of_one_module(
    modules: Sequence[ModuleType], rpcs: Sequence[str]
) -> None:
    names = {rpc.lower() for rpc in rpcs}
    counted = Counter(
        name.replace("_", "")
        for module in modules
        for name, function in getmembers(module, isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    )

    assert {name: counted[name] for name in names} == dict.fromkeys(names, 1)


@SERVICES
def test_no_module_imports_a_function_with_the_name_of_a_call(
    modules: Sequence[ModuleType], rpcs: Sequence[str]
) -> None:
    names = {rpc.lower() for rpc in rpcs}

    assert [
        (module.__name__, name)
        for module in modules
        for name, function in getmembers(module, isfunction)
        if name.replace("_", "") in names and function.__module__ != module.__name__
    ] == []
