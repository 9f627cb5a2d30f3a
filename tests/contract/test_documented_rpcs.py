"""docs/contract.md has every RPC of our services in their tables, and no other."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from meta.v1 import operations_pb2, resources_pb2

CONTRACT = Path(__file__).parents[2] / "docs" / "contract.md"


@pytest.mark.parametrize(
    ("file", "name"),
    [(operations_pb2, "OperationsService"), (resources_pb2, "ResourcesService")],
)
def test_every_added_rpc_is_documented(file: ModuleType, name: str) -> None:
    section = CONTRACT.read_text().partition(f"\n## {name}\n")[2]
    table = section.partition("| RPC | ")[2].partition("\n\n")[0]
    documented = {
        name
        for row in re.findall(r"^\| ([^|]+) \|", table, re.M)
        for name in row.strip().split(", ")
    }

    service = file.DESCRIPTOR.services_by_name[name]
    assert documented - {"---"} == {method.name for method in service.methods}
