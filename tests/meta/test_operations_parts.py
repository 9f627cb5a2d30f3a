"""The modules of services have the calls of OperationsService: each of them once."""

from collections import Counter
from inspect import getmembers, isfunction

from meta.services.operations import MODULES, RPCS


def test_each_call_of_the_contract_is_a_function_of_one_module() -> None:
    names = {rpc.lower() for rpc in RPCS}
    counted = Counter(
        name.replace("_", "")
        for module in MODULES
        for name, function in getmembers(module, isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    )

    assert {name: counted[name] for name in names} == dict.fromkeys(names, 1)


def test_no_module_imports_a_function_with_the_name_of_a_call() -> None:
    names = {rpc.lower() for rpc in RPCS}

    assert [
        (module.__name__, name)
        for module in MODULES
        for name, function in getmembers(module, isfunction)
        if name.replace("_", "") in names and function.__module__ != module.__name__
    ] == []
